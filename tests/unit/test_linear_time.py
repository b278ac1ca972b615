"""No text takes time with the square of its length: what is read is somebody else's."""

from __future__ import annotations

import re

import pytest

from lmemscope.formats.words import last_character, last_word
from tests.support.regular_expressions import (
    Expression,
    expressions,
    grows,
    repeats_group_possessively,
)


@pytest.fixture(scope="module")
def found() -> list[Expression]:
    return list(expressions())


def test_no_expression_takes_more_than_linear_time_for_one_long_token(
    found: list[Expression],
) -> None:
    alike: dict[tuple[str | bytes, int, bool], list[Expression]] = {}
    for one in found:
        key = (one.compiled.pattern, one.compiled.flags, one.searched)
        alike.setdefault(key, []).append(one)
    told = {places[0].place: grows(places[0]) for places in alike.values()}
    assert {place: why for place, why in told.items() if why is not None} == {}


def test_no_group_is_repeated_possessively(found: list[Expression]) -> None:
    """Before 3.11.5, Python's `re` loses matches of `(…)*+` if anything in the group may give back.

    `(?>(?:…)*)` says the same and is right in every version (https://bugs.python.org/issue106052).
    """
    wrong = {one.place for one in found if repeats_group_possessively(one.compiled)}
    assert wrong == set()


def test_a_group_that_is_repeated_possessively_is_seen() -> None:
    assert repeats_group_possessively(re.compile(r"a(?:b|c)*+"))
    assert not repeats_group_possessively(re.compile(r"(?>(?:b|[^c]*+)*)x++[)]*+"))


def test_expressions_are_found_where_they_are_kept_and_where_they_are_written(
    found: list[Expression],
) -> None:
    places = [one.place for one in found]
    assert len(places) > 400
    assert "lmemscope.formats.log_lines._STACK_LINE" in places
    assert any(place.startswith("lmemscope.rules.param_copy:") for place in places)


@pytest.mark.parametrize(
    ("text", "word"),
    [("", ""), ("a", "a"), ("x = f_1 \n", "f_1"), ("f(", ""), ("7", "7"), ("  ", "")],
)
def test_the_last_word_is_found_from_the_end(text, word):
    assert last_word(text) == word


def test_what_stands_behind_the_place_does_not_count():
    assert last_word("one two", 3) == "one"
    assert last_character("f() * g", 4) == ")"
    assert last_character("  ", 2) == ""
