"""Words of a command line: as `shlex.split` has them, for words of any length."""

from __future__ import annotations

import random
import shlex

import pytest

from lmemscope.formats.shell_words import shell_words

ALPHABET = ["a", "b", " ", "\t", "\n", "'", '"', "\\", "-D", "=", "#", "$", "é", "\x0b"]


@pytest.mark.parametrize("seed", range(8))
def test_words_are_those_of_shlex(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(500):
        text = "".join(chance.choices(ALPHABET, k=chance.randrange(14)))
        try:
            expected = shlex.split(text)
        except ValueError:
            with pytest.raises(ValueError, match=r"no (closing quotation|escaped character)"):
                shell_words(text)
        else:
            assert shell_words(text) == expected, text


def test_long_words_take_no_longer_than_their_length() -> None:
    long = "a b" * 2_000_000
    assert shell_words(f"x '{long}' \"{long}\" y") == ["x", long, long, "y"]
    assert shell_words("'a'" * 500_000) == ["a" * 500_000]
