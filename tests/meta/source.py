"""The source as data: every module of `remit`, its syntax tree, and what it imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "remit"


@dataclass(frozen=True)
class Module:
    """One file. `name` is dotted; `part` is the first name below `remit`, empty for `remit` itself."""

    name: str
    path: Path
    tree: ast.Module
    lines: int

    @property
    def part(self) -> str:
        return self.name.split(".")[1] if "." in self.name else ""

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"


@cache
def modules() -> tuple[Module, ...]:
    """All of `src/remit`, in order of their names."""
    found: list[Module] = []
    for path in sorted(SOURCE.rglob("*.py")):
        names = path.relative_to(SOURCE.parent).with_suffix("").parts
        name = ".".join(names[:-1] if names[-1] == "__init__" else names)
        text = path.read_text(encoding="utf-8")
        found.append(Module(name, path, ast.parse(text), len(text.splitlines())))
    return tuple(found)


def imports(module: Module) -> Iterator[tuple[str, int]]:
    """Every module of `remit` that `module` imports, wherever in the file, and the line. `from a import b` is `a.b` where
    that is a module, and not a public name of `a`."""
    known = {one.name for one in modules()}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "remit":
                    yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(module, node)
            if origin.split(".")[0] != "remit":
                continue
            public = next((names_of(one) or [] for one in modules() if one.name == origin != "remit"), [])
            inner = {f"{origin}.{alias.name}" for alias in node.names if alias.name not in public} & known
            yield from ((name, node.lineno) for name in inner)
            if len(inner) < len(node.names):
                yield origin, node.lineno
        elif _is_lazy(node):
            yield node.args[0].value, node.lineno  # type: ignore[attr-defined]


def taken(module: Module) -> Iterator[tuple[str, str, int]]:
    """Every name that `module` takes out of a module of `remit`: (where from, name, line); not modules themselves."""
    known = {one.name for one in modules()}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and (origin := _origin(module, node)) in known:
            for alias in node.names:
                if f"{origin}.{alias.name}" not in known or (origin == "remit" and alias.name in {"tool", "workflow"}):
                    yield origin, alias.name, node.lineno


def names_of(module: Module) -> list[str] | None:
    """The literal `__all__`, None where there is none or it is computed."""
    for node in module.tree.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id="__all__")], value=value)
                | ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as value)
            ):
                try:
                    names = ast.literal_eval(value)
                except ValueError:
                    return None
                return list(names)
            case _:
                continue
    return None


def _origin(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    base = module.name.split(".")
    base = base[: len(base) - node.level + module.is_package]
    return ".".join([*base, *([node.module] if node.module else [])])


def _is_lazy(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="import_module") | ast.Attribute(attr="import_module") | ast.Name(id="__import__")):
            first = node.args[0] if node.args else None
            return isinstance(first, ast.Constant) and isinstance(first.value, str) and first.value.split(".")[0] == "remit"
        case _:
            return False
