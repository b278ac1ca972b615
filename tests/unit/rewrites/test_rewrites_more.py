"""What each rewrite edits, and what it declines; what comes of some when they are compiled."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path

import pytest
from msgspec.structs import replace

from docs.generate_rewrites import TARGET, whole
from lmemscope import rules
from lmemscope.app.session import Session
from lmemscope.config.settings import from_flags
from lmemscope.fixing.edits import together
from lmemscope.fixing.run import Asked, fix
from lmemscope.model import (
    CallFacts,
    Cause,
    Evidence,
    IndexFacts,
    InlineFrame,
    LaunchBounds,
    Rewriting,
    SourceLocation,
    Uniformity,
)
from lmemscope.rewrites import (
    bounded_loop,
    drop_volatile,
    force_inline,
    grid_constant,
    launch_bounds,
    smem_spilling,
    static_table,
    unroll,
)
from lmemscope.rewrites.base import DeclinedError, Hit, Rewrite, Target
from lmemscope.running.pool import WorkerPool
from lmemscope.sources.edits import patched
from lmemscope.sources.syntax import Syntax
from tests.support.builders import access, changed, facts, kernel_with, local_object, source_text


def line_of(text: str, part: str) -> int:
    """The line (1-based) on which a text stands for the first time."""
    return text[: text.index(part)].count("\n") + 1


def target(
    text: str,
    cause: Cause,
    *,
    declared: str | None = None,
    used: str,
    name: str | None = "a",
    kind: str = "float[16]",
    kernel: str = "k",
    uniformity: Uniformity = "lane-varying",
    bounds: LaunchBounds | None = None,
    symbols: tuple[str, ...] = (),
    calls: CallFacts | None = None,
    size: int = 64,
) -> Target:
    """A target in ``a.cu``: its variable is declared and used on lines that hold these texts."""
    place = SourceLocation("a.cu", line_of(text, used))
    at = SourceLocation("a.cu", line_of(text, declared)) if declared is not None else None
    own = local_object(
        cause,
        name=name,
        type=kind,
        declared=at,
        size=size,
        index=IndexFacts("i", (), uniformity, None, place),
        evidence_facts=tuple(Evidence("address-passed", symbol) for symbol in symbols),
    )
    made = replace(
        kernel_with(cause),
        demangled=f"{kernel}(float*)",
        location=SourceLocation("a.cu", line_of(text, f"{kernel}(")),
        objects=(own,),
        accesses=(access(cause, chain=(InlineFrame.at(place, None),)),),
        launch_bounds=bounds,
        calls=calls or CallFacts((), (), False),
    )
    sources = source_text({"a.cu": text})
    ((case, finding),) = rules.cases(made, sources)
    path = os.path.abspath("a.cu")
    return Target(
        cause, name, kind, place, at, path, Syntax(text.encode()), (Hit(made, finding, case),)
    )


def proposals(rewrite: Rewrite, given: Target) -> list[Rewriting]:
    return list(rewrite.propose(given))


def after(rewriting: Rewriting, text: str) -> str:
    return patched(text.encode(), rewriting.edits).decode()


def declines(rewrite: Rewrite, given: Target) -> bool:
    """Whether a rewrite proposes nothing, with or without a reason of its own."""
    try:
        return not proposals(rewrite, given)
    except DeclinedError:
        return True


def only(rewrite: Rewrite, given: Target, text: str) -> str:
    """The text after the only proposal."""
    (found,) = proposals(rewrite, given)
    return after(found, text)


# Unrolling.

LOOPS = """\
__global__ void k(const float *x, float *o, int n) {
    float a[16];
#pragma unroll 1
    for (int i = 0; i < 16; ++i) a[i] = x[i];
    float s = 0;
    for (int j = 0; j < 4; ++j) {
        for (int i = 0; i < 16; ++i) s += a[i] * j;
    }
    for (int i = 0; i < n; ++i) s += x[i];
    o[0] = s;
}
"""


def test_loops_whose_counters_index_the_array_are_unrolled() -> None:
    first, second = proposals(
        unroll.REWRITE, target(LOOPS, "rolled-loop", declared="float a", used="a[i] =")
    )
    own = LOOPS.replace("unroll 1", "unroll").replace(
        "        for (int i", "        #pragma unroll\n        for (int i"
    )
    assert after(first, LOOPS) == own
    assert after(second, LOOPS) == own.replace(
        "    for (int j", "    #pragma unroll\n    for (int j"
    )
    assert {first.applicability, second.applicability} == {"safe"}


def test_a_pragma_keeps_the_line_ends_of_its_file() -> None:
    text = LOOPS.replace("\n", "\r\n")
    first, _ = proposals(
        unroll.REWRITE, target(text, "rolled-loop", declared="float a", used="a[i] =")
    )
    made = after(first, text)
    assert "        #pragma unroll\r\n        for" in made
    assert made.count("\n") == made.count("\r\n") == text.count("\n") + 1


def test_a_loop_within_a_line_gets_lines_of_its_own() -> None:
    text = "__global__ void k(float *o) { float a[4]; for (int i = 0; i < 4; ++i) a[i] = i; }\n"
    made = only(unroll.REWRITE, target(text, "rolled-loop", declared="float a", used="a[i]"), text)
    assert made == text.replace(" for", "\n#pragma unroll\nfor")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        # Unrolled already.
        (
            "__global__ void k(float *o) {\n float a[4];\n#pragma unroll\n"
            " for (int i = 0; i < 4; ++i) a[i] = i;\n}\n",
            "line 4 has `unroll`",
        ),
        (
            '__global__ void k(float *o) {\n float a[4];\n _Pragma("unroll")\n'
            " for (int i = 0; i < 4; ++i) a[i] = i;\n}\n",
            "line 4 has `unroll`",
        ),
        # In a macro's body, and among its arguments.
        (
            "#define FILL for (int i = 0; i < 4; ++i) \\\n a[i] = i;\n"
            "__global__ void k(float *o) {\n float a[4]; FILL }\n",
            None,
        ),
        (
            "__global__ void k(float *o) {\n float a[4];\n"
            " EACH(for (int i = 0; i < 4; ++i) a[i] = i;)\n}\n",
            None,
        ),
        (
            "__global__ void k(float *o) {\n float a[4];\n"
            " EACH([&] { for (int i = 0; i < 4; ++i) a[i] = i; });\n}\n",
            "no pragma can stand before the loop on line 3",
        ),
        # Its line goes on behind a backslash.
        (
            "__global__ void k(float *o) {\n float a[4]; \\\n"
            " for (int i = 0; i < 4; ++i) a[i] = i;\n}\n",
            "no pragma can stand before the loop on line 3",
        ),
    ],
)
def test_loops_that_are_unrolled_or_in_macros_are_left(text: str, why: str | None) -> None:
    given = target(text, "rolled-loop", declared="float a", used="a[i]")
    with nullcontext() if why is None else pytest.raises(DeclinedError, match=why):
        assert proposals(unroll.REWRITE, given) == []


def test_a_pragma_operator_gives_way() -> None:
    text = (
        '__global__ void k(float *o) {\n float a[4];\n _Pragma("unroll 1")\n'
        " for (int i = 0; i < 4; ++i) a[i] = i;\n}\n"
    )
    given = target(text, "rolled-loop", declared="float a", used="a[i]")
    assert only(unroll.REWRITE, given, text) == text.replace("unroll 1", "unroll")


def test_a_while_loop_counts_with_what_its_condition_asks() -> None:
    text = """\
__global__ void k(float *o) {
    float a[4];
    int i = 0;
    while (i < 4) { a[i] = o[i]; i++; }
}
"""
    given = target(text, "rolled-loop", declared="float a", used="a[i]")
    made = only(unroll.REWRITE, given, text)
    assert made == text.replace("    while", "    #pragma unroll\n    while")


# Bounding.


def bounded(loop: str) -> tuple[Rewriting, str, str] | None:
    """What comes of a loop over ``float a[16]``: the rewriting, the text before, and after."""
    text = f"__global__ void k(const float *x, int n) {{\n    float a[16];\n    {loop}\n}}\n"
    given = target(text, "dynamic-index", declared="float a", used=loop)
    found = [] if declines(bounded_loop.REWRITE, given) else proposals(bounded_loop.REWRITE, given)
    return (found[0], text, after(found[0], text)) if found else None


@pytest.mark.parametrize("bound", ["min(n, 16)", "min(n, x[0])"])
def test_a_bound_by_a_function_that_only_computes_is_one(bound: str) -> None:
    found = bounded(f"for (int i = 0; i < {bound}; ++i) a[i] = x[i];")
    assert found is not None
    assert f"i < 16; ++i) {{ if (!(i < {bound})) break;" in found[2]


def test_a_loop_that_uses_each_element_first_is_bounded_safely() -> None:
    found = bounded("for (int i = 0; i < n; ++i) a[i] = x[i];")
    assert found is not None
    rewriting, text, made = found
    assert rewriting.applicability == "safe"
    assert made == text.replace(
        "    for (int i = 0; i < n; ++i) a[i] = x[i];",
        "    #pragma unroll\n"
        "    for (int i = 0; i < 16; ++i) { if (!(i < n)) break; a[i] = x[i]; }",
    )


def test_loops_within_loops_are_bounded_together() -> None:
    found = bounded(
        "for (int i = 0; i < n; ++i)\n"
        "        for (int j = i + 1; j < n - 1; ++j)\n"
        "            if (a[j] < a[i]) { swap(a[i], a[j]); }"
    )
    assert found is not None
    assert found[0].applicability == "unsafe"
    assert found[0].caveat == "`n` never exceeds 16 and `n - 1` never exceeds 16"
    assert found[2].split("\n")[2:-2] == [
        "    #pragma unroll",
        "    for (int i = 0; i < 16; ++i) { if (!(i < n)) break;",
        "        #pragma unroll",
        "        for (int j = i + 1; j < 16; ++j) { if (!(j < n - 1)) break;",
        "            if (a[j] < a[i]) { swap(a[i], a[j]); } } }",
    ]


@pytest.mark.parametrize(
    "body",
    [
        "{ if (x[i] > 0) continue; a[i] = 1; }",  # Not always.
        "{ if (x[i] > 0) break; a[i] = 1; }",
        "{ float y = x[i] > 0 ? a[i] : 0; x2 += y; }",
        "{ bool y = x[i] > 0 && a[i] > 0; x2 += y; }",
        "{ leave(x[i]); a[i] = 1; }",  # It may end the thread.
        "{ float *p = &a[i]; use(p); }",  # No access.
        "{ float &p = a[i]; use(p); }",
        "{ auto f = [&] { return a[i]; }; use(f); }",
        "{ x2 += sizeof(a[i]); }",
        '{ asm("exit;"); a[i] = 1; }',
        "{ if (x[i] > 0) return; a[i] = 1; }",
        "{ if (x[i] > 0) { use(x); } a[i] = 1; }",
        "{ for (;;) x2 += 1; a[i] = 1; }",
        "{ for (int j = 0; j < n; ++j) while (x[j] > 0) x2 += 1; a[i] = 1; }",
        "{ for (int j = 1; j <= i; ++j) a[i] = 1; }",  # No first turn where i is 0.
        "{ for (int j = 0; j < i; ++j) a[i] = 1; }",
        "{ volatile int *p = q; for (int j = 0; j < *p; ++j) x2 += 1; a[i] = 1; }",
    ],
)
def test_a_loop_that_may_not_use_an_element_is_a_promise(body: str) -> None:
    found = bounded(f"for (int i = 0; i < n; ++i) {body}")
    assert found is not None
    assert found[0].applicability == "unsafe"
    assert found[0].caveat == "`n` never exceeds 16"
    assert f"{{ if (!(i < n)) break; {body[2:]}" in found[2]


@pytest.mark.parametrize(
    "body",
    [
        "{ for (int j = 0; j < n; ++j) if (x[j] > 0) break; a[i] = 1; }",
        "{ if (x[i] > 0) x2 += 1; else { x2 = 0; } a[i] = 1; }",
        "{ for (int j = 0; j <= i; ++j) { float y = a[i]; if (y > 0) return; } }",
    ],
)
def test_what_comes_to_its_end_may_stand_before_the_use(body: str) -> None:
    found = bounded(f"for (int i = 0; i < n; ++i) {body}")
    assert found is not None
    assert found[0].applicability == "safe"


def test_a_pointer_to_a_row_is_no_use_of_it() -> None:
    for body, applicability in (
        ("{ float *p = a[i]; p[0] = 1; }", "unsafe"),
        ("{ float p = a[i][3]; x2 += p; }", "safe"),
    ):
        text = (
            "__global__ void k(float x2, int n) {\n    float a[16][4];\n"
            f"    for (int i = 0; i < n; ++i) {body}\n}}\n"
        )
        given = target(text, "dynamic-index", declared="float a", used="for", kind="float[16][4]")
        (found,) = proposals(bounded_loop.REWRITE, given)
        assert found.applicability == applicability


def test_a_bound_that_is_reached_must_be_less() -> None:
    found = bounded("for (int i = 1; i <= n; ++i) if (x[i] > 0) a[i] = x[i];")
    assert found is not None
    assert found[0].caveat == "`n` never reaches 16"
    assert "for (int i = 1; i < 16; ++i) { if (!(i <= n)) break; if (x" in found[2]


def test_a_loop_that_uses_another_array_of_the_size_first_is_bounded_safely() -> None:
    body = "{ float y = b[i]; if (y > 0) a[i] = y; }"
    loop = f"float b[{{}}]; use(b); for (int i = 0; i < n; ++i) {body}"
    verdicts = [
        found[0].applicability for n in (16, 17) if (found := bounded(loop.replace("{}", str(n))))
    ]
    assert verdicts == ["safe", "unsafe"]


def test_the_counter_of_a_bounded_loop_needs_no_promise() -> None:
    found = bounded(
        "for (int i = 0; i < n; ++i) {\n"
        "        a[i] = x[i];\n"
        "        for (int j = 0; j < i; ++j) if (x[j] > 0) a[j] = 1;\n"
        "    }"
    )
    assert found is not None
    assert found[0].applicability == "safe"
    assert found[2].count("#pragma unroll") == 2


def test_what_one_rewriting_shows_another_needs_no_promise_for() -> None:
    loop = "for (int i = 0; i < n; ++i) {{ a[i] = x[i]; if (a[i] > {0}) b[i] = 1; }}"
    text = (
        "__global__ void k(const float *x, int n) {\n    float a[16];\n    float b[16];\n"
        f"    {loop.format(0)}\n    for (int i = 0; i < n; ++i) if (x[i] > 3) b[i] = 2;\n}}\n"
    )
    alone = []
    for name in ("a", "b"):
        given = target(text, "dynamic-index", name=name, declared=f"float {name}", used="for")
        alone += proposals(bounded_loop.REWRITE, given)
    assert [one.caveat for one in alone] == [None, "`n` never exceeds 16"]
    assert [len(one.promises) for one in alone] == [0, 1]
    both = together(alone)
    assert both is not None
    assert both.caveat == "`n` never exceeds 16"  # The second loop is nobody else's.
    first = replace(alone[1], promises=((alone[0].edits[-1], "`n` never exceeds 16"),))
    shown = together([alone[0], first])
    assert shown is not None
    assert (shown.applicability, shown.caveat) == ("safe", None)


def test_a_loop_that_counts_down_begins_at_the_last_element() -> None:
    found = bounded("for (int i = n - 1; i >= 0; --i) a[i] = x[i];")
    assert found is not None
    rewriting, text, made = found
    assert rewriting.applicability == "safe"
    assert made == text.replace(
        "    for (int i = n - 1; i >= 0; --i) a[i] = x[i];",
        "    #pragma unroll\n"
        "    for (int i = 16 - 1; i >= 0; --i) { if (i > (int)(n - 1)) continue; a[i] = x[i]; }",
    )


def test_a_promise_of_a_loop_that_counts_down_is_of_its_start() -> None:
    found = bounded("for (int i = n; i > 0; i -= 1) { if (x[i] > 0) a[i] = 1; }")
    assert found is not None
    assert found[0].caveat == "`n` never reaches 16"


@pytest.mark.parametrize(
    "loop",
    [
        "for (int i = 15; i >= 0; --i) a[i] = x[i];",  # Constant as it is.
        "for (unsigned i = n - 1; i >= 1; --i) a[i] = x[i];",
        "for (int i = n - 1; i >= n / 2; --i) a[i] = x[i];",
        "for (int i = n - 1; i >= 0; i -= 2) a[i] = x[i];",
        "for (int i = n - 1, j = 0; i >= 0; --i) a[i] = x[i];",
        "int i; for (i = n - 1; i >= 0; --i) a[i] = x[i];",  # Who reads it afterwards?
        "for (int i = next(); i >= 0; --i) a[i] = x[i];",
        "for (int i = n - 1; i >= 0; --i) { a[i] = x[i]; --n; }",  # The start is asked for again.
        "for (int i = n - 1; i >= 0; --i) { a[i] = x[i]; change(n); }",
        "int &m = n; for (int i = n - 1; i >= 0; --i) { a[i] = x[i]; m = 3; }",
        "for (int i = x[3]; i >= 0; --i) a[i] = x[i];",
        "for (int i = n - 1; i >= 0; --i) { a[i] = x[i]; i = 3; }",
        "for (int i = n - 1; i >= 0; --i) { a[i] = x[i]; change(i); }",
    ],
)
def test_other_loops_down_are_left_as_they_are(loop: str) -> None:
    found = bounded(loop)
    assert found is None or "continue" not in found[2]


DOWN = "for (int i = n - 1; i >= 0; --i) {{ a[i] = x[i]; if (a[i] > 3) {} }}"


@pytest.mark.parametrize(
    ("before", "change"),
    [
        ("int &m{n};", "m = 0;"),
        ("int &m(n);", "m = 0;"),
        ("int &m = (n);", "m = 0;"),
        ("int &m = x[0] > 3 ? n : n;", "m = 0;"),
        ("int &m = same(n);", "m = 0;"),
        ("int *m = &(n);", "*m = 0;"),
        ("Ref m{n};", "m.r = 0;"),
        ("", "(n) = 0;"),
        ("", "(x[0] > 3 ? n : n) = 0;"),
        ("", "change((n));"),
        ("", "Ref(n).r = 0;"),
        ("", "in >> n;"),
        ("", "{ int &j{i}; j += 4; }"),
        ("", "change((i));"),
        ("int m = n; if (int &n = m)", "m = 0;"),
    ],
)
def test_a_start_that_something_else_may_change_is_left(before: str, change: str) -> None:
    found = bounded(f"{before} {DOWN.format(change)}")
    assert found is None or "continue" not in found[2]


@pytest.mark.parametrize("change", ["y = n;", "y = x[n - 1] * (n + i);", "y = sqrtf(n);"])
def test_a_start_that_is_read_alone_is_bounded(change: str) -> None:
    found = bounded(f"float y = n; int m = n; {DOWN.format(change)}")
    assert found is not None
    assert found[0].applicability == "safe"


@pytest.mark.parametrize(
    ("loop", "caveat"),
    [
        ("for (char i = n; i >= 0; --i) {}", "`(char)(n)` never reaches 16"),
        ("long m = n; for (int i = m; i >= 0; --i) {}", "`(int)(m)` never reaches 16"),
        ("for (unsigned i = 0; i < n; ++i) {}", "`n` is never negative and never exceeds 16"),
        ("unsigned m = n; for (unsigned i = 0; i < m; ++i) {}", "`m` never exceeds 16"),
    ],
)
def test_a_promise_is_of_what_is_compared(loop: str, caveat: str) -> None:
    found = bounded(loop.replace("{}", "{ if (x[i] > 0) a[i] = 1; }"))
    assert found is not None
    assert found[0].caveat == caveat


@pytest.mark.parametrize(
    "loop",
    [
        "for (int i = n - 1; i >= 1u; --i) a[i] = x[i];",  # Minus one is above it.
        "for (int i = ~3; i < n; ++i) a[i] = x[i];",
    ],
)
def test_what_is_compared_without_a_sign_or_begins_below_zero_is_left(loop: str) -> None:
    assert bounded(loop) is None


@pytest.mark.parametrize(
    "body",
    [
        "{ Ref r{a[i]}; if (x[i] > 0) r.r = 1; }",
        "{ Ref r = {a[i]}; if (x[i] > 0) r.r = 1; }",
        "{ Ref r = a[i]; if (x[i] > 0) r.r = 1; }",
        "{ Box<float> r{a[i]}; if (x[i] > 0) r.r = 1; }",
        "{ (void)a[i]; if (x[i] > 0) a[i] = 1; }",
        "{ a[i]; if (x[i] > 0) a[i] = 1; }",
        "{ Ref l{x2}; l << i; a[i] = 1; }",
        "{ x2 += make_step(i); a[i] = 1; }",
    ],
)
def test_what_only_names_an_element_or_may_end_is_a_promise(body: str) -> None:
    text = (
        'struct Ref { float &r; void operator<<(int i) { if (i > 3) asm("exit;"); } };\n'
        if "<<" in body
        else "struct Ref { float &r; };\n"
    )
    text += "__device__ int make_step(int i) { if (i > 3) __trap(); return i; }\n" * (
        "step" in body
    )
    text += (
        "__global__ void k(const float *x, int n) {\n    float a[16]; float x2 = 0;\n"
        f"    for (int i = 0; i < n; ++i) {body}\n}}\n"
    )
    given = target(text, "dynamic-index", declared="float a", used="for")
    (found,) = proposals(bounded_loop.REWRITE, given)
    assert found.caveat == "`n` never exceeds 16"


def test_rows_by_a_name_are_no_values() -> None:
    text = (
        "typedef float Row[4];\n__global__ void k(const float *x, int n) {\n    Row a[16];\n"
        "    for (int i = 0; i < n; ++i) { float *p = a[i]; if (x[i] > 0) p[0] = 1; }\n}\n"
    )
    given = target(text, "dynamic-index", declared="Row a", used="for", kind="float[16][4]")
    (found,) = proposals(bounded_loop.REWRITE, given)
    assert found.applicability == "unsafe"


@pytest.mark.parametrize(
    "loop",
    [
        "float b[16][4]; {}",
        "float b[16]; auto f = [&](const float *b) { {} };",
        "float b[16]; auto f = [&, b = x] { {} };",
        "float b[16]; if (const float *b = x) { {} }",
        "float b[16]; for (const float *b : rows) { {} }",
    ],
)
def test_another_array_is_the_one_that_is_meant_where_the_loop_is(loop: str) -> None:
    body = "for (int i = 0; i < n; ++i) { float y = b[i]; if (x[i] > 0) a[i] = y; }"
    found = bounded(loop.replace("{}", body))
    assert found is not None
    assert found[0].caveat == "`n` never exceeds 16"


@pytest.mark.parametrize(
    ("constant", "applicability"),
    [("constexpr int N = {};", "unsafe"), ("enum {{ N = {} }};", "unsafe"), ("", "safe")],
)
def test_an_extent_by_a_name_is_the_same_only_in_its_scope(
    constant: str, applicability: str
) -> None:
    text = (
        "constexpr int N = 16;\n__global__ void k(const float *x, int n) {\n"
        f"    float b[N]; use(b);\n    {{ {constant.format(16)} float a[N];\n"
        "    for (int i = 0; i < n; ++i) { float y = b[i]; if (y > 0) a[i] = y; } }\n}\n"
    )
    given = target(text, "dynamic-index", declared="float a", used="for")
    (found,) = proposals(bounded_loop.REWRITE, given)
    assert found.applicability == applicability


@pytest.mark.parametrize("inner", ["{ enum { N = 4 }; {} }", "for (int N : sizes) {}"])
def test_an_extent_by_a_name_that_is_another_at_the_loop_is_left(inner: str) -> None:
    loop = inner.replace("{}", "for (int i = 0; i < n; ++i) a[i] = x[i];", 1)
    text = (
        "constexpr int N = 16;\n__global__ void k(const float *x, int n) {\n    float a[N];\n"
        f"    {loop}\n}}\n"
    )
    given = target(text, "dynamic-index", declared="float a", used="a[i]")
    assert declines(bounded_loop.REWRITE, given)


@pytest.mark.parametrize("change", ["bump(i);", "int &q{i}; q += 20;", "bump((i));"])
def test_a_counter_that_something_else_may_change_bounds_no_loop_within(change: str) -> None:
    found = bounded(
        f"for (int i = 0; i < n; ++i) {{ a[i] = x[i]; {change}\n"
        "        for (int j = 0; j < i; ++j) if (x[j] > 0) a[j] = 1;\n    }"
    )
    assert found is not None
    assert found[0].caveat == "`i` never exceeds 16"


@pytest.mark.parametrize(
    "loop",
    [
        "for (int i = 0; i < 16; ++i) a[i] = x[i];",  # Constant as it is.
        "const int size = 8; for (int i = 0; i < 2 * size; ++i) a[i] = x[i];",
        "for (int i = 0; i < n--; ++i) a[i] = x[i];",  # A bound that changes something.
        "for (int i = 0; i < next(); ++i) a[i] = x[i];",
        "for (int i = n; i < n + 4; ++i) a[i] = x[i];",  # From no constant.
        "for (int i = -1; i < n; ++i) a[i] = x[i];",
        "for (int i = 0; i < n; i *= 2) a[i] = x[i];",
        "for (int i = 0; i < n; ++i) { a[i] = x[i]; if (a[i] > 3) i += 2; }",
        "for (int i = 0; i < n; ++i) { a[i] = x[i]; move(&i); }",
        "for (int i = 0; i < n; ++i) a[i + 1] = x[i];",  # Another index than the counter.
        "for (int i = 0; n > i; ++i) a[i] = x[i];",
        "for (int i = 0; i < n && x[i] > 0; ++i) a[i] = x[i];",
        "while (n--) a[n] = x[n];",
        "for (int i = 0; i < n; ++i) { int i = 2; a[i] = 1; }",
        "S s; for (int i = 0; i < n; ++i) s.a[i] = x[i];",  # Another array of the name.
        "{ float a[64]; for (int i = 0; i < n; ++i) a[i] = x[i]; }",
        "} void f(int n) { float a[64]; for (int i = 0; i < n; ++i) a[i] = 1;",
        "auto f = [](float (&a)[64], int n) { for (int i = 0; i < n; ++i) a[i] = 1; };",
        "auto f = [](float *a, int n) { for (int i = 0; i < n; ++i) a[i] = 1; };",
    ],
)
def test_other_loops_are_not_bounded(loop: str) -> None:
    assert bounded(loop) is None


# Tables.


def table(declaration: str, use: str = "o[0] = a[n];", head: str = "__global__") -> list[Rewriting]:
    text = f"{head} void k(float *o, int n) {{\n    {declaration}\n    {use}\n}}\n"
    return proposals(
        static_table.REWRITE, target(text, "const-table", declared=declaration, used=use)
    )


def first_edit(found: list[Rewriting]) -> list[bytes]:
    return [edit.text for edit in found[0].edits]


def test_a_table_becomes_static_by_how_lanes_read_it() -> None:
    declaration = "float a[] = {1, 2, 3};"
    text = f"__global__ void k(float *o, int n) {{\n    {declaration}\n    o[0] = a[n];\n}}\n"
    plain = f"static const {declaration}"
    for uniformity, wanted in (
        ("lane-varying", [plain]),
        ("uniform", [f"static __constant__ const {declaration}", plain]),
    ):
        given = target(
            text,
            "const-table",
            declared=declaration,
            used="a[n]",
            uniformity=uniformity,  # type: ignore[arg-type]
        )
        made = [after(one, text) for one in proposals(static_table.REWRITE, given)]
        assert [one.split("\n")[1].strip() for one in made] == wanted


def test_a_table_is_constant_memory_only_if_no_index_differs_between_lanes() -> None:
    declaration = "float a[] = {1, 2, 3};"
    text = f"__global__ void k(float *o, int n) {{\n    {declaration}\n    o[0] = a[n];\n}}\n"
    given = target(text, "const-table", declared=declaration, used="a[n]", uniformity="uniform")
    (hit,) = given.hits
    assert hit.finding.index is not None
    index = replace(hit.finding.index, other_uniformity="lane-varying")
    finding = replace(hit.finding, index=index)
    other = replace(given, hits=(replace(hit, finding=finding),))
    first = [proposals(static_table.REWRITE, one)[0].edits[0].text for one in (given, other)]
    assert first == [b"static __constant__ const ", b"static const "]


def test_const_and_pointers_keep_their_words() -> None:
    plain, pointer = [b"static "], [b"static ", b"const "]
    assert first_edit(table("const float a[2] = {1, 2};")) == plain
    assert first_edit(table("constexpr float a[2] = {1, 2};")) == plain
    assert first_edit(table('const char *a[2] = {"x", "y"};')) == pointer
    assert first_edit(table('const char *const a[2] = {"x", "y"};')) == plain


def test_functions_for_the_host_get_no_memory_space() -> None:
    found = table("float a[2] = {1, 2};", head="__host__ __device__")
    assert [edit.text for one in found for edit in one.edits] == [b"static const "]


@pytest.mark.parametrize(
    ("declaration", "use"),
    [
        ("static float a[2] = {1, 2};", "o[0] = a[n];"),
        ("volatile float a[2] = {1, 2};", "o[0] = a[n];"),
        ("float a[2] = {1, 2};", "o[0] = a[n]; a[n] = 3;"),
        ("float2 a[2] = {1, 2};", "o[0] = a[n].x++;"),
        ("float a[2] = {1, 2};", "change((float *)a);"),  # What const would forbid.
        ("float a[2] = {1, 2};", "change(const_cast<float *>(a));"),
        ("float a[2] = {1, 2};", 'asm("st.f32 [%0], 0;" :: "l"(a));'),
    ],
)
def test_what_may_be_changed_is_no_table(declaration: str, use: str) -> None:
    assert table(declaration, use) == []


@pytest.mark.parametrize("declaration", ["float a[2];", "__shared__ float a[2];"])
def test_what_statements_fill_is_no_table_as_it_stands(declaration: str) -> None:
    with pytest.raises(DeclinedError, match="statements fill it"):
        table(declaration)


# Parameters.

IN_PLACE = """\
struct P { float w[32]; };
extern "C" __global__ void k(const P, int);
extern "C" __global__ void k(P p /* weights */, int n = 3);
__global__ void k(P p, float *o);
__global__ void k(
    P const p,
    int n) {
    use(p.w[n]);
}
"""


def test_every_declaration_of_the_kernel_reads_its_parameter_in_place() -> None:
    text = IN_PLACE
    found = target(text, "param-copy", used="use(", name="p.w", kernel="k", declared=None)
    hit = found.hits[0]
    facts_ = replace(hit.facts, location=SourceLocation("a.cu", 5), name="k")
    found = replace(found, hits=(changed(hit, facts=facts_),))
    made = only(grid_constant.REWRITE, found, text)
    assert made.split("\n")[1:7] == [
        'extern "C" __global__ void k(__grid_constant__ const P, int);',
        'extern "C" __global__ void k(const __grid_constant__ P p /* weights */, int n = 3);',
        "__global__ void k(P p, float *o);",
        "__global__ void k(",
        "    __grid_constant__ P const p,",
        "    int n) {",
    ]


def test_so_does_one_in_a_header() -> None:
    text = '#include "k.h"\n__global__ void k(P p, int n) {\n    use(p.w[n]);\n}\n'
    header = "__global__ void k(P p, int);\n__global__ void k(Q p, int);\nvoid k(P);\n"
    found = target(text, "param-copy", used="use(", name="p.w", kernel="k", declared=None)
    other = os.path.abspath("k.h")
    (hit,) = found.hits
    sources = source_text({"a.cu": text, "k.h": header})
    hit = replace(hit, case=replace(hit.case, sources=sources))
    tree = {other: Syntax(header.encode())}.get
    found = replace(found, hits=(hit,), tree=tree)
    (made,) = proposals(grid_constant.REWRITE, found)
    assert [(os.path.basename(edit.file), edit.start) for edit in made.edits] == [
        ("a.cu", text.index("P p")),
        ("k.h", header.index("P p")),
    ]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("change((float *)p.w);", "a cast on line 2 may take const away"),
        ("change(const_cast<P &>(p));", "a cast on line 2 may take const away"),
        (
            'asm("st.f32 [%0], 0;" :: "l"(&p));',
            "inline assembly gets the parameter's address on line 2",
        ),
    ],
)
def test_a_parameter_that_may_lose_its_const_is_left(body: str, why: str) -> None:
    text = f"__global__ void k(P p) {{\n    {body}\n}}\n"
    with pytest.raises(DeclinedError, match=why):
        proposals(grid_constant.REWRITE, target(text, "param-copy", used=body, name="p"))


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("P &p", "no parameter `p` to be a copy"),
        ("const P *p", "no parameter `p` to be a copy"),
        ("float p[4]", "no parameter `p` to be a copy"),
        ("__grid_constant__ const P p", "it is `__grid_constant__` already"),
    ],
)
def test_pointers_and_references_are_no_copies(kind: str, why: str) -> None:
    text = f"__global__ void k({kind}) {{\n    use(p);\n}}\n"
    with pytest.raises(DeclinedError, match=why):
        proposals(grid_constant.REWRITE, target(text, "param-copy", used="use", name="p"))


# Inlining.


def inlined(functions: str, *, symbol: str = "_Z4leafPf", recursive: bool = False) -> str | None:
    text = functions + "__global__ void k(float *o) {\n    float a[4];\n    leaf(a);\n}\n"
    calls = CallFacts((symbol,), (symbol,) if recursive else (), False)
    given = target(
        text,
        "address-taken",
        declared="float a",
        used="leaf(a)",
        symbols=(symbol,),
        calls=calls,
    )
    found = proposals(force_inline.REWRITE, given)
    assert all(one.applicability == "safe" for one in found)
    return after(found[0], text).removesuffix(text[len(functions) :]) if found else None


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (
            "__device__ __noinline__ void leaf(float *a) {}\n",
            "__device__ __forceinline__ void leaf(float *a) {}\n",
        ),
        (
            "static inline __device__ void leaf(float *a) {}\n",
            "static __forceinline__ __device__ void leaf(float *a) {}\n",
        ),
        (
            "__device__ __noinline__ void leaf(float *);\n__device__ void leaf(float *a) {}\n",
            "__device__ void leaf(float *);\n__device__ __forceinline__ void leaf(float *a) {}\n",
        ),
        (
            "template <class T>\n__device__ __attribute__((noinline)) void leaf(T *a) {}\n",
            "template <class T>\n__device__ __forceinline__ void leaf(T *a) {}\n",
        ),
        (
            "#define KEEP __noinline__\n__device__ KEEP void leaf(float *a) {}\n",
            "#define KEEP __noinline__\n__device__ __forceinline__ void leaf(float *a) {}\n",
        ),
    ],
)
def test_a_function_is_inlined(before: str, expected: str) -> None:
    made = inlined(before)
    assert made is not None
    assert made.replace("  ", " ") == expected


@pytest.mark.parametrize(
    "before",
    [
        "",  # Defined elsewhere.
        "struct S {\n    virtual __device__ void leaf(float *a) {}\n};\n",
        "struct S : B {\n    __device__ void leaf(float *a) override {}\n};\n",
        "__device__ __noinline__ /* keep */ void leaf(float *a) {}\n",
        "void leaf(float *a) {}\n",
    ],
)
def test_what_cannot_be_inlined_is_left(before: str) -> None:
    with pytest.raises(DeclinedError, match="what is seen of `leaf` cannot be inlined"):
        inlined(before)


def test_what_gets_the_address_is_inlined_before_what_has_the_object() -> None:
    text = (
        "__device__ void leaf(float *a) {}\n"
        "__device__ __noinline__ void holds(float *o) {\n    float a[4];\n    leaf(a);\n}\n"
        "__global__ void k(float *o) { holds(o); }\n"
    )
    given = target(
        text, "address-taken", declared="float a[4]", used="leaf(a)", symbols=("_Z4leafPf",)
    )
    (hit,) = given.hits
    assert hit.case.object is not None
    inside = replace(hit.case.object, function="_Z5holdsPf")
    given = replace(given, hits=(replace(hit, case=changed(hit.case, object=inside)),))
    found = proposals(force_inline.REWRITE, given)
    assert [one.summary for one in found] == ["inline `leaf`", "inline 2 functions"]


def test_a_host_function_that_becomes_inline_may_be_missed() -> None:
    for head, applicability in (
        ("__host__ __device__", "unsafe"),
        ("static __host__ __device__", "safe"),
        ("__device__", "safe"),
    ):
        text = f"{head} void leaf(float *a) {{}}\n" + (
            "__global__ void k(float *o) {\n    float a[4];\n    leaf(a);\n}\n"
        )
        given = target(
            text, "address-taken", declared="float a[4]", used="leaf(a)", symbols=("_Z4leafPf",)
        )
        (found,) = proposals(force_inline.REWRITE, given)
        assert (found.applicability, found.caveat is None) == (
            applicability,
            applicability == "safe",
        )


def test_who_stands_against_inlining_is_named() -> None:
    text = "__global__ void k(float *o) {\n    float a[4];\n    leaf(a);\n}\n"
    calls = CallFacts(("_Z4leafPf",), (), False, external=("_Z4leafPf",))
    given = target(
        text,
        "address-taken",
        declared="float a",
        used="leaf(a)",
        symbols=("_Z4leafPf",),
        calls=calls,
    )
    with pytest.raises(DeclinedError, match="`leaf` is defined in another source"):
        proposals(force_inline.REWRITE, given)


def test_calls_that_the_compiler_inlined_are_not_denied() -> None:
    text = "__device__ void leaf(float *a) {}\n"
    text += "__global__ void k(float *o) {\n    float a[4];\n    leaf(a);\n}\n"
    calls = CallFacts((), (), False)
    given = target(text, "address-taken", declared="float a[4]", used="leaf(a)", calls=calls)
    with pytest.raises(DeclinedError, match="no call is left"):
        proposals(force_inline.REWRITE, given)


def test_recursion_is_not_inlined() -> None:
    with pytest.raises(DeclinedError, match="is recursive"):
        inlined("__device__ void leaf(float *a) { leaf(a); }\n", recursive=True)


# Volatile.


def plain(declaration: str, use: str = "o[0] = a;", kind: str = "int") -> Rewriting | None:
    text = f"__global__ void k(float *o) {{\n    {declaration}\n    {use}\n}}\n"
    given = target(text, "volatile", declared=declaration, used=use, kind=kind)
    try:
        found = proposals(drop_volatile.REWRITE, given)
    except DeclinedError:
        return None
    return found[0] if found else None


@pytest.mark.parametrize(
    ("declaration", "applicability"),
    [
        ("volatile int a;", "safe"),
        ("unsigned volatile a = 3;", "safe"),
        ("volatile uint32_t a[4], b;", "safe"),
        ("const volatile size_t a = 3;", "safe"),
        ("volatile float a;", "unsafe"),
        ("volatile real a;", "unsafe"),
        ("volatile double a[4];", "unsafe"),
    ],
)
def test_volatile_goes_by_the_type(declaration: str, applicability: str) -> None:
    use = "o[0] = a[1];" if "a[" in declaration else "o[0] = a;"
    found = plain(declaration, use, kind="real")
    assert found is not None
    assert found.applicability == applicability
    assert (found.caveat is None) == (applicability == "safe")
    text = f"__global__ void k(float *o) {{\n    {declaration}\n    {use}\n}}\n"
    assert after(found, text) == text.replace("volatile ", "")


@pytest.mark.parametrize(
    ("declaration", "use"),
    [
        ("volatile int *a = o;", "o[0] = *a;"),  # Others see what it points to.
        ("float *volatile a = o;", "o[0] = *a;"),
        ("volatile int &a = *o;", "o[0] = a;"),
        ("static volatile int a;", "o[0] = a;"),
        ("__shared__ volatile int a[4];", "o[0] = a[1];"),
        ("VOLATILE int a;", "o[0] = a;"),
        ("volatile int a;", 'asm("add.cc.u32 %0, %0, 1;" : "+r"(a));'),
        ("volatile int a;", "use((volatile int *)&a);"),
        ("volatile int a, *b;", "o[0] = a;"),
        ("volatile int a;", "decltype(a) c = 3;"),
    ],
)
def test_volatile_that_others_rely_on_stays(declaration: str, use: str) -> None:
    assert plain(declaration, use) is None


def test_volatile_of_a_templates_type_is_unsafe() -> None:
    text = "template <class T> __global__ void k(T *o) {\n    volatile T a;\n    o[0] = a;\n}\n"
    given = target(text, "volatile", declared="volatile T", used="o[0]", kind="volatile int")
    (found,) = proposals(drop_volatile.REWRITE, given)
    assert found.applicability == "unsafe"


# Spills.


def looser(
    head: str, *, more: str = "", minimum: int | None = 8, applicability: str = "safe"
) -> list[str]:
    text = f"{more}{head} k(float *o) {{\n    use(o);\n}}\n"
    bounds = LaunchBounds(256, minimum)
    given = target(text, "register-spill", used="use", name=None, bounds=bounds)
    found = proposals(launch_bounds.REWRITE, given)
    assert {one.applicability for one in found} == {applicability}
    return [after(one, text).removeprefix(more).partition(" k(")[0] for one in found]


def test_bounds_ask_for_fewer_blocks() -> None:
    head = "template <int N> __global__ void __launch_bounds__(N, {})"
    assert looser(head.format(8)) == [
        head.replace(", {}", ""),
        head.format(6),
        head.format(5),
        head.format(1),
    ]
    assert looser("__global__ __launch_bounds__(256) void", minimum=None) == [
        "__global__ __launch_bounds__(256, 1) void"
    ]
    assert looser("__global__ __launch_bounds__(256, 8, 2) void") == [
        "__global__ __launch_bounds__(256, 1, 2) void"
    ]


@pytest.mark.parametrize(
    ("threads", "minimum", "more", "made"),
    [
        (1024, "", "", ["1024, 1", "512, 1"]),
        (1024, ", 1", "", ["512, 1"]),
        (1024, "", "void f(float *o) { k<<<8, 512>>>(o); }\n", ["1024, 1", "512, 1"]),
        (1024, "", "void f(float *o) { k<<<8, 1024>>>(o); }\n", ["1024, 1"]),
        (256, "", "", ["256, 1"]),  # Half of it may have no more than 255, either.
        # Another kernel of the name, whose blocks are none of those that are promised.
        (
            1024,
            ", 1",
            "namespace m { __global__ void __launch_bounds__(768, 1) k(int *o); }\n",
            [],
        ),
    ],
)
def test_bounds_of_half_a_block_leave_more_registers(
    threads: int, minimum: str, more: str, made: list[str]
) -> None:
    head = "__global__ void __launch_bounds__({})"
    text = f"{head.format(f'{threads}{minimum}')} k(float *o) {{\n    use(o);\n}}\n{more}"
    bounds = LaunchBounds(threads, 1 if minimum else None)
    used = 65536 // threads  # All that a thread of such a block can have.
    given = target(text, "register-spill", used="use", name=None, bounds=bounds)
    (hit,) = given.hits
    assert hit.facts.ptxas is not None
    full = changed(hit.facts, ptxas=replace(hit.facts.ptxas, registers=used), cubin=None)
    given = replace(given, hits=(changed(hit, facts=full),))
    found = proposals(launch_bounds.REWRITE, given)
    assert [after(one, text).partition(" k(")[0] for one in found] == [
        head.format(one) for one in made
    ]
    assert [one.applicability for one in found if ", 1" in minimum or one is not found[0]] == [
        "unsafe"
    ] * ("512, 1" in made)


@pytest.mark.parametrize(
    "head",
    [
        "__global__ void __maxnreg__(32)",
        "__global__ __maxnreg__(32) void",
        "__maxnreg__(CAP) __global__ void",
    ],
)
def test_a_cap_on_registers_goes(head: str) -> None:
    made = looser(head, applicability="unsafe")  # It bounds no block.
    assert [one.split() for one in made] == [["__global__", "void"]]


def test_bounds_that_a_macro_hides_stay() -> None:
    text = (
        "#define BOUNDS __launch_bounds__(256, 8)\n"
        "__global__ void BOUNDS k(float *o) {\n    use(o);\n}\n"
    )
    given = target(text, "register-spill", used="use(", name=None)
    assert proposals(launch_bounds.REWRITE, given) == []


def test_spilling_to_shared_memory_is_the_first_statement() -> None:
    text = "__global__ void __launch_bounds__(256) k(float *o) {\n    use(o);\n}\n"
    bounds = LaunchBounds(256, None)
    given = target(text, "register-spill", used="use", name=None, bounds=bounds)
    assert only(smem_spilling.REWRITE, given, text) == text.replace(
        "    use", '    asm volatile(".pragma \\"enable_smem_spilling\\";");\n    use'
    )
    unbounded = target(text, "register-spill", used="use", name=None)
    assert only(smem_spilling.REWRITE, unbounded, text) is not None
    dynamic = text.replace("{\n", "{\n    extern __shared__ float s[];\n")
    given = target(dynamic, "register-spill", used="use", name=None, bounds=bounds)
    with pytest.raises(DeclinedError, match="dynamic shared memory"):
        proposals(smem_spilling.REWRITE, given)
    wrapped = f"{text}void f() {{ launch(k); }}\n"
    given = target(wrapped, "register-spill", used="use", name=None, bounds=bounds)
    with pytest.raises(DeclinedError, match="its program has dynamic shared memory, or a launch"):
        proposals(smem_spilling.REWRITE, given)
    cached = f"{text}void f() {{ cudaFuncSetCacheConfig(k, cudaFuncCachePreferL1); }}\n"
    given = target(cached, "register-spill", used="use", name=None, bounds=bounds)
    with pytest.raises(DeclinedError, match="asks for L1 cache"):
        proposals(smem_spilling.REWRITE, given)
    given = target(text, "register-spill", used="use", name=None, bounds=bounds)
    (hit,) = given.hits
    assert hit.facts.ptxas is not None
    taken = replace(hit.facts.ptxas, shared=48 * 1024)
    facts = changed(hit.facts, ptxas=taken)
    full = replace(given, hits=(changed(hit, facts=facts),))
    with pytest.raises(DeclinedError, match=r"no room for a word of 256 threads$"):
        proposals(smem_spilling.REWRITE, full)


def test_facts_alone_name_no_kernel_elsewhere() -> None:
    """A kernel of another file is not looked for in this one."""
    text = "__global__ void __launch_bounds__(256, 2) k(float *o) {\n    use(o);\n}\n"
    given = target(text, "register-spill", used="use", name=None, bounds=LaunchBounds(256, 2))
    hit = given.hits[0]
    away = changed(hit, facts=facts("k", location=SourceLocation("b.cu", 1)))
    assert proposals(launch_bounds.REWRITE, replace(given, hits=(away,))) == []


# Compiled.

LOOPS_AND_TABLES = """\
__global__ void rolled(const float *x, float *o, int n) {
  float a[16];
#pragma unroll 1
  for (int i = 0; i < 16; ++i) a[i] = x[i * n];
#pragma unroll 1
  for (int i = 0; i < 16; ++i) o[i] = a[i] * a[15 - i];
}
__global__ void filled(const float *x, float *o, int n) {
  float b[16], s = 0;
  for (int i = 0; i < n; ++i)
    b[i] = x[i * n];
  for (int i = 0; i < n; i++) {
    if (x[i] > 3) continue;
    s += b[i];
  }
  o[threadIdx.x] = s;
}
__global__ void table(const unsigned *packed, float *out) {
  const float level[16] = {-1.0f, -0.6962f, -0.5251f, -0.3949f, -0.2844f, -0.1848f, -0.0911f, 0.0f,
                           0.0796f, 0.1609f, 0.2461f, 0.3379f, 0.4407f, 0.5626f, 0.723f, 1.0f};
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 8; ++k) out[i * 8 + k] = level[packed[i] >> (4 * k) & 15];
}
"""

CALLS = """\
struct P { float w[32]; int n; };
__device__ __noinline__ float use(const P &p, int i) { return p.w[i] * p.n; }
__global__ void parameter(P p, float *o, int i) { o[i] = use(p, i); }
__device__ __noinline__ void fill(float *a, int n) { a[0] = a[1] * n; a[3] = a[2] + n; }
__global__ void called(const float *x, float *o, int n) {
  float a[4];
  for (int i = 0; i < 4; ++i) a[i] = x[i];
  fill(a, n);
  o[threadIdx.x] = a[0] + a[3];
}
__global__ void insists(const int *x, int *o, int n) {
  volatile int v[4];
  for (int i = 0; i < 4; ++i) v[i] = x[i * n];
  o[threadIdx.x] = v[1] + v[3];
}
"""

SPILLS = r"""
__global__ void __launch_bounds__(256, 8) spills(const float *x, float *o) {
  float r[48], s = 0;
#pragma unroll
  for (int i = 0; i < 48; ++i) r[i] = x[threadIdx.x + i * 256];
  for (int k = 0; k < 100; ++k) {
#pragma unroll
    for (int i = 0; i < 48; ++i) r[i] = r[i] * r[(i + 7) % 48] + 1;
  }
#pragma unroll
  for (int i = 0; i < 48; ++i) s += r[i];
  o[threadIdx.x] = s;
}
"""

Expected = dict[tuple[str, str], tuple[str, str]]


def tried(
    text: str, directory: Path, monkeypatch: pytest.MonkeyPatch, of: tuple[Rewrite, ...]
) -> Expected:
    """The best of each rewrite for each kernel: its applicability and its verdict."""
    monkeypatch.setattr("lmemscope.rewrites.REWRITES", of)
    path = directory / "a.cu"
    path.write_text(text)
    settings = from_flags({"arch": ("sm_90",)}).settings
    with WorkerPool(1) as pool:
        _, outcome = fix([str(path)], Session(settings, pool), Asked())
    assert not outcome.failures
    order = ("removed", "reduced", "no-effect", "worse", "failed")
    found: Expected = {}
    for trial in sorted(outcome.trials, key=lambda one: -order.index(one.verdict)):
        key = (trial.kernel.partition("(")[0], trial.rewriting.rewrite)
        found[key] = (trial.rewriting.applicability, trial.verdict)
    return found


@pytest.mark.toolchain
def test_loops_and_tables_leave_local_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = (unroll.REWRITE, bounded_loop.REWRITE, static_table.REWRITE)
    found = tried(LOOPS_AND_TABLES, tmp_path, monkeypatch, of)
    assert found["rolled", "unroll"] == ("safe", "removed")
    assert found["filled", "bounded-loop"] == ("unsafe", "removed")
    assert found["table", "static-table"] == ("safe", "removed")


@pytest.mark.toolchain
def test_parameters_calls_and_volatile_leave_local_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = (grid_constant.REWRITE, force_inline.REWRITE, drop_volatile.REWRITE)
    found = tried(CALLS, tmp_path, monkeypatch, of)
    assert found["parameter", "grid-constant"] == ("unsafe", "removed"), "a function gets it"
    assert found["called", "force-inline"] == ("safe", "removed")
    assert found["insists", "drop-volatile"] == ("safe", "removed")


@pytest.mark.toolchain
def test_spills_leave_local_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = (launch_bounds.REWRITE, smem_spilling.REWRITE)
    found = tried(SPILLS, tmp_path, monkeypatch, of)
    assert found["spills", "launch-bounds"] == ("safe", "removed")
    assert found["spills", "smem-spilling"] == ("safe", "reduced")


def test_the_page_of_rewrites_is_their_own_text() -> None:
    assert TARGET.read_text() == whole(), "run python docs/generate_rewrites.py"


@pytest.mark.parametrize(
    "use", ["((ip)a)[n] = 1;", "P(a)[n] = 1;", "change(a, n);", "int *q = &a[1];"]
)
def test_a_table_that_somebody_gets_is_left_alone(use: str) -> None:
    assert not table("int a[3] = {1, 2, 3};", use)
    assert table("int a[3] = {1, 2, 3};", "o[0] = a[n] + sizeof(a);")


def test_a_table_whose_elements_choose_an_overload_is_left_alone() -> None:
    declared = "int a[3] = {1, 2, 3};"
    text = f"__global__ void k(int *o, int n) {{\n    {declared}\n    o[0] = val(a[n]);\n}}\n"
    before = "__device__ int val(int &x);\n__device__ int val(const int &x);\n"

    def found(head: str) -> list[Rewriting]:
        given = target(head + text, "const-table", declared=declared, used="val(a[n])")
        return proposals(static_table.REWRITE, given)

    assert not found(before)
    assert found("__device__ int val(int x);\n")
