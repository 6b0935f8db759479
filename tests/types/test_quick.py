"""A noun that is made quickly is the noun that it was."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from remit.types.quick import quick


@quick
@dataclass(frozen=True, slots=True)
class Place:
    row: int
    seat: int = 7
    names: dict[str, int] = field(default_factory=dict[str, int])
    kind: str = field(default="place", kw_only=True)


@dataclass(frozen=True, slots=True)
class Plain:
    row: int
    seat: int = 7
    names: dict[str, int] = field(default_factory=dict[str, int])
    kind: str = field(default="place", kw_only=True)


def test_a_quick_noun_takes_the_arguments_of_a_plain_one() -> None:
    place = Place(1, 2, kind="box")
    assert (place.row, place.seat, place.names, place.kind) == (1, 2, {}, "box")
    assert Place(row=1) == Place(1, 7)
    assert inspect.signature(Place).parameters == inspect.signature(Plain).parameters
    with pytest.raises(TypeError):
        Place()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Place(1, 2, {}, "box")  # type: ignore[misc]


def test_each_quick_noun_has_defaults_of_its_own() -> None:
    one, other = Place(1), Place(1)
    assert one.names is not other.names


def test_a_quick_noun_is_frozen_and_of_its_own_class() -> None:
    place = Place(1)
    assert type(place) is Place
    with pytest.raises(FrozenInstanceError):
        place.row = 2  # type: ignore[misc]
    assert not hasattr(place, "__dict__")


def test_a_quick_noun_is_copied_replaced_kept_and_shown_as_a_plain_one() -> None:
    place = Place(1, 2)
    assert replace(place, seat=3) == Place(1, 3)
    assert pickle.loads(pickle.dumps(place)) == copy.deepcopy(place) == place
    assert repr(place) == repr(Plain(1, 2)).replace("Plain", "Place")


def test_a_noun_that_does_more_than_to_set_its_fields_is_not_made_quick() -> None:
    class Base:
        __slots__ = ()

    @dataclass(frozen=True, slots=True)
    class Derived(Base):
        row: int

    @dataclass(frozen=True, slots=True)
    class Checked:
        row: int

        def __post_init__(self) -> None:
            assert self.row

    for kind in (Derived, Checked):
        with pytest.raises(TypeError):
            quick(kind)
