"""Tables of indices whose numbers a compiler sees once they are const."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from lmemscope import rules
from lmemscope.app.session import Session
from lmemscope.config.settings import from_flags
from lmemscope.fixing.run import Asked, fix
from lmemscope.model import IndexFacts, IndexSource, SourceLocation, SourceText
from lmemscope.rewrites import proposals
from lmemscope.rewrites.base import Target
from lmemscope.running.pool import WorkerPool
from lmemscope.sources.edits import patched
from tests.support.builders import changed, source_text
from tests.support.rewriting import kernel, target

TABLE = "__constant__ int order[4] = {3, 1, 0, 2};\n"
USE = "out[0] = a[order[n]];"
COUNTER = IndexSource("loop-counter", None, constant_trip=True)
READ = IndexSource("memory", "order")


def given(
    before: str = TABLE,
    use: str = USE,
    sources: tuple[IndexSource, ...] = (READ, COUNTER),
    files: Mapping[str, str] | None = None,
    project: Mapping[str, str] | None = None,
) -> Target:
    """The array `a` of a kernel, which is indexed by elements of `order`.

    Args:
        before: what stands before the kernel.
        use: a statement in it.
        sources: what the index is made of.
        files: quoted by the kernel's.
        project: files that nothing quotes, and that hold the table's name.
    """
    text = kernel("float a[4];", use, before=before)
    made = target(text, "a", "float[4]", files={**(files or {}), **(project or {})})
    (hit,) = made.hits
    (own,) = hit.facts.objects
    index = IndexFacts("order[n]", sources, "uniform", None, SourceLocation("/p/a.cu", 1))
    own = replace(own, index=index)
    looped = tuple(replace(one, loop_depth=1) for one in hit.facts.accesses)
    facts = replace(hit.facts, objects=(own,), accesses=looped)
    known = source_text({"/p/a.cu": text, **(files or {}), **(project or {})})
    # A project's files are found by the words in them.
    known = SourceText(known.lines, mentioning=lambda file, word: tuple(project or ()))
    case, finding = next(iter(rules.cases(facts, known)))
    hit = changed(hit, facts=facts, case=case, finding=finding)
    return replace(made, hits=(hit,))


def rewritten(asked: Target) -> str | None:
    """The kernel's file with the table const; None where it is declined."""
    found = [one for one in proposals(asked)[0] if one.rewrite == "const-indices"]
    if not found:
        return None
    one = found[0]
    assert one.applicability == "safe"
    (edit,) = one.edits
    return patched(asked.tree(edit.file).data, one.edits).decode()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (TABLE, "__constant__ const int order[4] = {3, 1, 0, 2};\n"),
        ("static " + TABLE, "static __constant__ const int order[4]"),
        (TABLE.replace("__constant__", "__device__"), "__device__ const int order[4]"),
        (TABLE.replace(" = ", " =\n"), "__constant__ const int order[4] =\n{3, 1, 0, 2};"),
        (TABLE.replace("int", "unsigned char"), "__constant__ const unsigned char order[4]"),
        (f"namespace {{\n{TABLE}}}\n", "__constant__ const int order[4]"),
    ],
)
def test_a_table_that_nothing_writes_becomes_const(before: str, after: str) -> None:
    asked = given(before)
    assert after in (rewritten(asked) or "")


def test_a_table_in_a_header_becomes_const_there() -> None:
    header = {"/p/b.cuh": TABLE}
    asked = given('#include "b.cuh"\n', files=header)
    assert rewritten(asked) == TABLE.replace("__constant__", "__constant__ const")


@pytest.mark.parametrize(
    "more",
    [
        "void set(const int *v) { cudaMemcpyToSymbol(order, v, 16); }\n",
        'void set(const int *v) { cudaMemcpyToSymbol("order", v, 16); }\n',
        "__global__ void set() { order[threadIdx.x] = 1; }\n",
        '__global__ void set() { asm volatile("st.global.u32 [order], 1;"); }\n',
        "__global__ void set() { ++order[threadIdx.x]; }\n",
        "__global__ void set(int **p) { *p = &order[2]; }\n",
        "__global__ void set(int *p) { copy(p, order); }\n",
        "__global__ void set(int **p) { *p = (int *)&order[2]; }\n",
        "__global__ void set() { (int &)order[2] = 1; }\n",
        "__global__ void set() { const_cast<int &>(order[2]) = 1; }\n",
        "__global__ void set(int *p) { chosen(p, order[2]); }\n",
        # Whatever lines it is written on, and by whatever name.
        "void set(const int *v) {\n  cudaMemcpyToSymbol(\n    order, v, 16);\n}\n",
        "__global__ void set(int **p) { *p = &\n  order[2]; }\n",
        "__global__ void set() { order[2]\n  = 1; }\n",
        "__global__ void set() { const_cast<int &>(\n  order[2]) = 1; }\n",
        "__global__ void set() { const int &one =\n  order[2]; write(one); }\n",
        "__global__ void set() { auto &&one = order[2]; write(one); }\n",
        "__global__ void set() { decltype(auto) one = order[2]; write(one); }\n",
        "__global__ void set() { auto f = [&one = order[2]] { write(one); }; f(); }\n",
        "__device__ const int &one() { return order[2]; }\n",
        "__global__ void set(int *p) {\n  chosen(p,\n    order[2]);\n}\n",
        "#define FIRST order[0]\nvoid set(const int *v) { cudaMemcpyToSymbol(FIRST, v, 4); }\n",
        "#define SET(a, v) cudaMemcpyToSymbol(ord##a, v, 16)\nvoid set(int *v) { SET(er, v); }\n",
        "extern __constant__ int order[4];\n",
        "__constant__ int order[4] = {0, 1, 2, 3};\n",
    ],
)
def test_a_table_that_something_may_write_stays(more: str) -> None:
    """In the kernel's own file, and in another of the project's that includes the table's."""
    assert rewritten(given(TABLE + more)) is None
    included = f'#include "a.cu"\n{more}'
    assert rewritten(given(project={"/p/other.cu": included})) is None
    own = 'extern "C" __global__ void k2(const int *order) { order[0]; f(order); }\n'
    assert rewritten(given(project={"/p/other.cu": own})) is not None
    # Elsewhere the name is something else's, unless it is declared to be this one's, or in quotes.
    is_known = more.startswith("extern") or "order" in more.partition('"')[2]
    assert (rewritten(given(project={"/p/other.cu": more})) is None) == is_known


@pytest.mark.parametrize(
    ("line", "is_offered"),
    [
        ('cuModuleGetGlobal(&at, &bytes, module, "order");', False),
        ('cuLibraryGetGlobal(&at, &bytes, library, "order");', False),
        ("sort(order);", True),
    ],
)
def test_a_table_that_a_host_finds_by_its_name_stays(line: str, is_offered: bool) -> None:
    host = {"/p/host.cpp": f"void set(int *order) {{ {line} }}\n"}
    assert (rewritten(given(project=host)) is not None) == is_offered


@pytest.mark.parametrize(
    "use",
    [
        "out[0] = a[order[n]\n];",
        "int j = order[n]; out[0] = a[j];",
        "const auto j = order[n]; out[0] = a[j];",
        "for (int j = order[n]; j < 4; ++j) out[0] += a[j];",
        "out[0] = a[(order[n] + 1) & 3];",
        "out[0] = a[3 - order[n]];",
        "out[0] = a[n &\n  order[n]];",
        "out[0] = a[(int)order[n]];",
        "if (order[n]) out[0] = a[order[n]];",
        "if (n && order[n] > 1) out[0] = a[order[n]];",
    ],
)
def test_a_table_whose_elements_are_values_becomes_const(use: str) -> None:
    assert "__constant__ const int order[4]" in (rewritten(given(use=use)) or "")


ROWS = "__constant__ int order[2][2] = {{3, 1}, {0, 2}};\n"


@pytest.mark.parametrize(
    ("more", "stays"),
    [
        ("", False),
        ("void set(int *v) {\n  cudaMemcpyToSymbol(\n    order[1], v, 8);\n}\n", True),
        ("__global__ void set(int *p) { const int *row = order[1]; write(row); }\n", True),
        ("__global__ void set(int **p) { *p = order[1] + 1; }\n", True),
        ("__global__ void set(int *p) { *p = order[1][0] + 1; }\n", False),
    ],
)
def test_a_row_of_a_table_is_more_than_its_values(more: str, stays: bool) -> None:
    asked = given(ROWS + more, use="out[0] = a[order[n][1]];")
    assert (rewritten(asked) is None) is stays


def test_an_element_that_an_overload_may_take_by_reference_is_more_than_its_value() -> None:
    tap = "struct Tap { int v; };\n"
    by = "__device__ int operator*(Tap t, %sint &i);\n"
    more = "__device__ int use(Tap t) { return t * order[2]; }\n"
    assert rewritten(given(TABLE + tap + more)) is not None
    overloaded = tap + by % "" + by % "const "
    assert rewritten(given(TABLE + overloaded + more)) is None


def test_a_headers_table_may_be_written_by_whoever_includes_it() -> None:
    header = {"/p/b.cuh": TABLE}
    writes = "void set(const int *v) { cudaMemcpyToSymbol(order, v, 16); }\n"
    for include, stays in (('#include "sub/../b.cuh"\n', True), ('#include "c.cuh"\n', False)):
        other = {"/p/other.cu": include + writes}
        asked = given('#include "b.cuh"\n', files=header, project=other)
        assert (rewritten(asked) is None) == stays


@pytest.mark.parametrize(
    "before",
    [
        "__constant__ int order[4];\n",  # Somebody has to fill it.
        "__shared__ int order[4];\n",
        "int order[4] = {3, 1, 0, 2};\n",
    ],
)
def test_what_is_no_table_of_constants_stays(before: str) -> None:
    assert rewritten(given(before)) is None


@pytest.mark.parametrize(
    "more",
    [
        IndexSource("loop-counter", None, constant_trip=False),
        IndexSource("memory", None),
        IndexSource("memory", "data"),
        IndexSource("thread-id", "threadIdx.x"),
    ],
)
def test_an_index_that_is_made_of_more_stays_one(more: IndexSource) -> None:
    asked = given(sources=(READ, COUNTER, more))
    assert rewritten(asked) is None


def test_a_file_that_is_known_by_two_paths_declares_it_once() -> None:
    asked = given()
    (hit,) = asked.hits
    place = SourceLocation("/p/../p/a.cu", 2)
    hit = changed(hit, facts=replace(hit.facts, location=place))
    both = replace(asked, hits=(hit,))
    assert len({*both.files}) == 2
    assert rewritten(both) is not None


def test_of_a_const_table_loops_are_to_be_unrolled() -> None:
    asked = given(TABLE.replace("int", "const int"))
    assert rewritten(asked) is None


KECCAK = """
__constant__ int lanes[24] = {10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4,
                              15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1};
__global__ void __launch_bounds__(256) permute(unsigned long long *io, int rounds) {
  unsigned long long s[25];
  for (int i = 0; i < 25; ++i) s[i] = io[threadIdx.x * 25 + i];
  for (int r = 0; r < rounds; ++r) {
    unsigned long long t = s[1];
    ROLLED
    for (int i = 0; i < 24; ++i) {
      int j = lanes[i];
      unsigned long long u = s[j];
      s[j] = (t << (i + 1)) | (t >> (63 - i));
      t = u;
    }
  }
  for (int i = 0; i < 25; ++i) io[threadIdx.x * 25 + i] = s[i];
}
"""


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("rolled", "edits"),
    [("", 1), ("#pragma unroll 1", 4)],
)
def test_a_permutation_leaves_local_memory(rolled: str, edits: int, tmp_path: Path) -> None:
    path = tmp_path / "a.cu"
    path.write_text(KECCAK.replace("ROLLED", rolled))
    with WorkerPool(1) as pool:
        _, outcome = fix(
            [str(path)], Session(from_flags({"arch": ("sm_90",)}).settings, pool), Asked()
        )
    removed = [
        one
        for one in outcome.trials
        if (one.rewriting.rewrite, one.verdict) == ("const-indices", "removed")
    ]
    best = min(removed, key=lambda one: one.rank or len(outcome.trials))
    assert best.rewriting.applicability == "safe"
    assert len(best.rewriting.edits) == edits
    assert best.after is not None
    assert best.after.stack_frame == 0
