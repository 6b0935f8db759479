"""The architecture holds: a part imports only what stands in its row, imports inside functions included."""

from __future__ import annotations

import pytest

from meta.source import Module, imports, modules, names_of, taken

GROUND = {"errors", "types", "canonical", "ambient", "foreign"}
PURE = {"tool", "policy", "budget", "label"}
STORE = {"ledger", "approval", "sandbox", "trace"}
LOOP = {"gate", "loop", "agent"}
EDGE = {"http", "model", "workflow", "check"}

ALLOWED: dict[str, set[str]] = {
    **dict.fromkeys({"wire"} | PURE | STORE, GROUND),
    **dict.fromkeys(GROUND, GROUND),
    "gate": GROUND | PURE | STORE,
    "loop": GROUND | PURE | STORE | {"gate"},
    "agent": GROUND | PURE | STORE | {"gate", "loop"},
    **{part: GROUND | {"wire"} | PURE | STORE | LOOP for part in EDGE},
    "owner": GROUND | {"wire"} | PURE | STORE | LOOP | EDGE,
}
PUBLIC_ONLY = {"": set[str](), "cli": {"demo", "testing"}, "demo": {"testing"}, "testing": set[str]()}
"""Parts that import public names only, and which of one another."""

EVERY = [pytest.param(module, id=module.name) for module in modules()]


@pytest.mark.parametrize("module", EVERY)
def test_a_module_imports_only_what_its_layer_may(module: Module) -> None:
    if module.part in PUBLIC_ONLY:
        wrong = [f"line {line}: {name}" for name, line in imports(module) if not _public(module.part, name)]
    else:
        assert module.part in ALLOWED, f"{module.part} has no layer"
        allowed = ALLOWED[module.part] | {module.part}
        wrong = [f"line {line}: {name}" for name, line in imports(module) if [*name.split("."), ""][1] not in allowed]
    assert wrong == []


def _public(part: str, name: str) -> bool:
    _, other, *inner = [*name.split("."), ""] if "." in name else [name, "", ""]
    if other == part and part:
        return True
    if other in PUBLIC_ONLY and other:
        return other in PUBLIC_ONLY[part]
    return other in {"", "errors", "ambient", "types"} or inner == [""]


@pytest.mark.parametrize("module", [one for one in EVERY if one.values[0].part in PUBLIC_ONLY])  # type: ignore[union-attr]
def test_what_stands_on_top_takes_public_names_only(module: Module) -> None:
    public = {one.name: set(names_of(one) or []) for one in modules()}
    own = f"remit.{module.part}"
    found = [(origin, name, line) for origin, name, line in taken(module) if not (origin + ".").startswith(own + ".")]
    assert [f"line {line}: {origin}.{name}" for origin, name, line in found if name not in public[origin]] == []


@pytest.mark.parametrize("module", [one for one in EVERY if one.values[0].is_package])  # type: ignore[union-attr]
def test_a_part_says_literally_what_is_public(module: Module) -> None:
    assert names_of(module) is not None, "no literal __all__"


def test_every_part_has_one_layer_and_every_layer_its_parts() -> None:
    parts = {module.part for module in modules()}
    assert parts == set(ALLOWED) | set(PUBLIC_ONLY)
    assert not set(ALLOWED) & set(PUBLIC_ONLY)
