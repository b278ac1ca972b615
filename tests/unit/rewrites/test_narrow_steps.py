"""Which steps by ``++`` and ``--`` may be of a signed number narrower than ``int``, and wrap."""

from __future__ import annotations

import pytest

from lmemscope.rewrites import proposals
from lmemscope.rewrites.narrow_steps import narrow_step
from tests.support.rewriting import kernel, target

CLOCK = "template <class T> struct Clock { T now; __device__ void tick() { ++now; } };\n"
STATE = "struct State { signed char phase; int drift; };\n"


def stepped(*body: str, before: str = "") -> str | None:
    """What a kernel with some lines, and with others before it, is said to step."""
    one = target(kernel("int v[4];", *body, before=before), "v", "int[4]")
    found = narrow_step(one)
    return found.text if found is not None else None


@pytest.mark.parametrize(
    ("before", "body", "name"),
    [
        ("", "signed char c = 0; c++;", "c"),
        ("", "short int c = 0; --c;", "c"),
        ("", "short signed c = 0; c--;", "c"),
        ("", "char c = 0; v[n] = c++;", "c"),
        ("typedef signed char phase_t;\n", "phase_t c = 0; c++;", "c"),
        ("using phase_t = short;\n", "phase_t c = 0; c++;", "c"),
        ("#define PHASE signed char\n", "PHASE c = 0; c++;", "c"),
        ("", "std::int_least8_t c = 0; c++;", "c"),
        ("", "int_fast8_t c = 0; c++;", "c"),
        ("", "counter_type c = 0; c++;", "c"),
        ("", "auto c = (signed char)n; c++;", "c"),
        ("short unknown(int);\n", "auto c = unknown(n); c++;", "c"),
        ("", "decltype(n) c = n; c++;", "c"),
        (STATE, "State s; s.phase++;", "s.phase"),
        (CLOCK, "Clock<signed char> c; c.tick();", "now"),
        ("", "short c[4]; ++c[n & 3];", "c[n & 3]"),
        ("", "signed char c[4]; v[n] = -c[n & 3]--;", "c[n & 3]"),
        ("", "short *c = q; (*c)++;", "(*c)"),
        ("", "signed char c[4]; signed char &d = c[0]; --d;", "d"),
        ("", "char4 c; c.x++;", "c.x"),
        ("", "volatile short c = 0; c++;", "c"),
        ("", "std::array<short, 4> c; c[0]++;", "c[0]"),
        ("", "((short &)n)++;", "((short &)n)"),
        ("__device__ void step(short &c) { c++; }\n", "short c = 0; step(c);", "c"),
        ("#define STEP(c) c++\n", "short c = 0; STEP(c);", "++"),
        ("template <class T> __device__ T f(T c) { return ++c; }\n", "short s = f(n);", "c"),
    ],
)
def test_a_step_of_a_narrow_or_unknown_type_may_wrap(before: str, body: str, name: str) -> None:
    assert stepped(body, before=before) == name


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("", "for (int i = 0; i < n; ++i) v[i & 3] = i;"),
        ("", "unsigned char c = 0; c++; uint8_t d = 0; d++; unsigned short e = 0; --e;"),
        (
            "",
            "long long c = 0; c++; size_t d = 0; d++; std::uint64_t e = 0; e++; float f = 0; f++;",
        ),
        ("", "short c = 0; c += 1; c = c + 1;"),
        ("", "int c = 0; v[0] = -c-- + ~c++;"),
        ("", "short *c = q; c++; v[0] = *c++;"),
        ("typedef unsigned counter_t;\n", "counter_t c = 0; c++;"),
        ("#define COUNTER unsigned short\n", "COUNTER c = 0; c++;"),
        (STATE, "State s; s.drift++;"),
        (CLOCK, "Clock<unsigned> c; c.tick();"),
        (
            "",
            "auto c = 0; c++; auto d = threadIdx.x; d++; auto e = p[0]; e++; auto f = n * 2; f++;",
        ),
        ("", "int c[4]; c[n & 3]++; int4 d; d.x++; (*q)++; int *q = c;"),
        ("struct It { int *at; __device__ void operator++() { ++at; } };\n", "It c; ++c;"),
        ("#define EACH(i, n) for (int i = 0; i < n; ++i)\n", "EACH(i, 4) v[i] = i;"),
        ("void host() { short c = 0; c++; }\n", "v[0] = 1;"),
        ("__device__ void other() { short c = 0; c++; }\n", "v[0] = 1;"),
        ("", "std::array<int, 4> c; c[0]++;"),
    ],
)
def test_a_step_of_another_type_does_not_wrap(before: str, body: str) -> None:
    assert stepped(body, before=before) is None


def test_what_may_wrap_makes_a_rewriting_unsafe_and_is_named() -> None:
    text = kernel("int v[4];", "for (int k = 0; k < 4; ++k) v[k] = k;", "short c = n;", "c++;")
    found, _ = proposals(target(text, "v", "int[4]"))
    assert found
    assert all(one.applicability == "unsafe" for one in found)
    assert all("`c` on line 5" in (one.caveat or "") for one in found)
    wide, _ = proposals(target(text.replace("short", "int"), "v", "int[4]"))
    assert any(one.applicability == "safe" for one in wide)
