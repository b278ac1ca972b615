"""Mutations of bytes and text: what a damaged file, a newer tool or an attacker would write.

Each is a function of the data and a random generator, so that a seed and a number make an input
again. Some make an input longer by far: reading it must then take longer by no more than that.
"""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable, Sequence

Mutation = Callable[[bytes, random.Random], bytes]

LARGEST = 400_000
"""Bytes; an input that grows beyond is cut, so that many can be tried."""

_TOKEN = re.compile(rb"\w+|[^\w\s]|\s+")
_NUMBER = re.compile(rb"\d+")
_ODD_NUMBERS = (
    *(b"0", b"1", b"-1", b"255", b"256", b"65535", b"2147483647", b"2147483648"),
    *(b"4294967295", b"4294967296", b"18446744073709551615", b"1" * 40, b"9" * 5000),
    *(b"1e400", b"0x", b"0xffffffff", b"0b2", b"08", b"1_0", b"1.5", b"NaN", b"\xd9\xa3"),
)
_ODD_WORDS = (
    *(b"", b"\0", b"\n", b"\r", b"\x85", b"\xff", b"\xed\xb3\xa9", b"\xe2\x80\xae", b"\x1b[2J"),
    *(b"'", b'"', b"\\", b"/*", b"*/", b"//", b"#", b"{", b"}", b"(", b")", b"[", b"]", b"<"),
    *(b">", b"<<<", b";", b",", b":", b"=", b"@", b"|", b"+", b"-", b".", b"%", b"$"),
    *(b'R"(', b"#if 0\n", b"_Z", b"null", b"true", b"None", b"[]", b"{}", b"\\u001a001A"),
)
_LONG_TOKENS = (
    *(b"a", b"9", b"_", b" ", b"\t", b"\n", b"\\", b'"', b"'", b"/", b"(", b"[", b"{", b"<", b"%"),
    *(b"<a,", b"a.", b"a::", b"a(", b"0x", b"[0]", b"->"),
)
_EDGES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
_NESTS = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"), (b"<", b">"), (b"-", b""), (b'{"a":', b"}"))


def mutated(seeds: Sequence[bytes], choice: random.Random, words: Sequence[bytes] = ()) -> bytes:
    """An input: a seed after one to six mutations.

    Args:
        seeds: to begin with and to splice from.
        choice: makes every decision.
        words: of the format, which make deeper reading likelier than noise does.
    """
    data = choice.choice(seeds)
    for _ in range(choice.choice((1, 1, 1, 2, 3, 6))):
        kind = choice.random()
        if kind < 0.06:
            data = _splice(data, choice.choice(seeds), choice)
        elif kind < 0.18 and words:
            data = _insert(data, choice.choice(words), choice)
        else:
            data = choice.choice(_MUTATIONS)(data, choice)
        if len(data) > LARGEST:
            data = data[:LARGEST]
    return data


def _flip_bits(data: bytes, choice: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(choice.choice((1, 1, 2, 8, 64))):
        if changed:
            changed[choice.randrange(len(changed))] ^= 1 << choice.randrange(8)
    return bytes(changed)


def _set_bytes(data: bytes, choice: random.Random) -> bytes:
    """A field of 1 to 8 bytes with a value at an edge: lengths, counts and offsets are such."""
    if len(data) < 8:
        return data
    width, at = choice.choice((1, 2, 4, 8)), choice.randrange(len(data) - 7)
    if choice.random() < 0.5:
        at -= at % width
    value = choice.choice(_EDGES) + choice.choice((0, 0, -1, 1, len(data)))
    field = struct.pack("<q", value)[:width]
    return data[:at] + field + data[at + width :]


def _cut(data: bytes, choice: random.Random) -> bytes:
    return data[: choice.randrange(len(data) + 1)]


def _remove(data: bytes, choice: random.Random) -> bytes:
    begin, end = _span(data, choice)
    return data[:begin] + data[end:]


def _repeat(data: bytes, choice: random.Random) -> bytes:
    """A part again and again, as in a file of one hundred thousand equal lines."""
    begin, end = _span(data, choice)
    times = choice.choice((2, 3, 10, 100, 1000))
    times = min(times, 60_000 // max(end - begin, 1) + 1)
    return data[:begin] + data[begin:end] * times + data[end:]


def _repeat_line(data: bytes, choice: random.Random) -> bytes:
    lines = data.split(b"\n")
    at = choice.randrange(len(lines))
    times = min(choice.choice((2, 10, 300, 3000)), 60_000 // (len(lines[at]) + 1) + 1)
    return b"\n".join([*lines[:at], *[lines[at]] * times, *lines[at + 1 :]])


def _swap_lines(data: bytes, choice: random.Random) -> bytes:
    lines = data.split(b"\n")
    one, other = choice.randrange(len(lines)), choice.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def _token(data: bytes, choice: random.Random) -> bytes:
    """A word twice, gone, or another word of the same file in its place."""
    begin = choice.randrange(len(data) + 1)
    near = _TOKEN.search(data, begin)
    other = _TOKEN.search(data, choice.randrange(len(data) + 1))
    if near is None or other is None:
        return data
    new = choice.choice((b"", near[0] * 2, other[0], near[0] + other[0]))
    return data[: near.start()] + new + data[near.end() :]


def _number(data: bytes, choice: random.Random) -> bytes:
    found = _NUMBER.search(data, choice.randrange(len(data) + 1))
    if found is None:
        return data
    return data[: found.start()] + choice.choice(_ODD_NUMBERS) + data[found.end() :]


def _odd_word(data: bytes, choice: random.Random) -> bytes:
    return _insert(data, choice.choice(_ODD_WORDS), choice)


def _nest(data: bytes, choice: random.Random) -> bytes:
    begin, end = _span(data, choice)
    opening, closing = choice.choice(_NESTS)
    depth = choice.choice((3, 50, 1200, 8000))
    if choice.random() < 0.3:
        closing = b""
    return data[:begin] + opening * depth + data[begin:end] + closing * depth + data[end:]


def _long_line(data: bytes, choice: random.Random) -> bytes:
    begin, end = _span(data, choice)
    if choice.random() < 0.5:
        return data[:begin] + data[begin:end].replace(b"\n", b" ") + data[end:]
    word = choice.choice(_LONG_TOKENS)
    return _insert(data, word * (choice.choice((20_000, 60_000)) // len(word)), choice)


def _run_of_bytes(data: bytes, choice: random.Random) -> bytes:
    """Bytes that all say "more follows", or none that ends a string."""
    begin, end = _span(data, choice)
    return data[:begin] + bytes([choice.choice((0, 0x80, 0xFF, 0x41))]) * (end - begin) + data[end:]


def _shuffle(data: bytes, choice: random.Random) -> bytes:
    begin, end = _span(data, choice)
    parts = _TOKEN.findall(data[begin:end][:2000])
    choice.shuffle(parts)
    return data[:begin] + b"".join(parts) + data[end:]


def _span(data: bytes, choice: random.Random) -> tuple[int, int]:
    begin = choice.randrange(len(data) + 1)
    return begin, min(len(data), begin + choice.choice((1, 4, 16, 100, 1000, 10_000)))


def _insert(data: bytes, word: bytes, choice: random.Random) -> bytes:
    at = choice.randrange(len(data) + 1)
    return data[:at] + word + data[at:]


def _splice(data: bytes, other: bytes, choice: random.Random) -> bytes:
    begin, end = _span(other, choice)
    at = choice.randrange(len(data) + 1)
    return (
        data[:at]
        + other[begin:end]
        + data[at if choice.random() < 0.5 else _span(data, choice)[1] :]
    )


_MUTATIONS: tuple[Mutation, ...] = (
    *(_flip_bits, _set_bytes, _cut, _remove, _repeat, _repeat_line, _swap_lines, _token, _token),
    *(_number, _odd_word, _nest, _long_line, _run_of_bytes, _shuffle),
)
