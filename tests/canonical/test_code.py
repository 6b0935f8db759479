from __future__ import annotations

import functools

from remit.canonical import name_of


def first(value):
    return value


def second(value):
    return value + 1


class Rule:
    def __call__(self, value):
        return value


def test_a_function_is_named_by_its_place_and_its_source():
    assert name_of(first) == name_of(first)
    assert ":first@" in name_of(first)
    assert name_of(first) != name_of(second)


def test_a_rewritten_function_has_another_name():
    old, new = {}, {}
    exec("def rule(value):\n    return value > 1\n", old)
    exec("def rule(value):\n    return value < 1\n", new)
    assert name_of(old["rule"]) != name_of(new["rule"])


def test_a_partial_or_an_object_is_named_by_what_it_calls():
    assert name_of(functools.partial(first, 1)) == name_of(first)
    assert ":Rule@" in name_of(Rule())


def test_what_has_no_source_still_has_a_name():
    assert name_of(len).startswith("builtins:len@")
