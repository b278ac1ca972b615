"""A header's array: the room in shared memory is for the blocks of all sources that include it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from lmemscope import rules
from lmemscope.advising.targets import Files
from lmemscope.model import CompileOptions, SourceLocation
from lmemscope.rewrites import proposals
from lmemscope.rewrites.base import Hit, Target
from lmemscope.sources.syntax import Syntax
from tests.support.rewriting import target

HEADER = """#pragma once
__device__ inline float pick(const int *p, int n) {
  float a[32];
  for (int i = 0; i < n; ++i) a[p[i] & 31] = n;
  return a[p[0] & 31];
}
"""
KERNEL = (
    '#include "{header}"\n__global__ void {bound}{name}(int *p, float *o, int n) {{ {body} }}\n'
)
LAUNCH = "void run_{name}(int *p, float *o) {{ {name}<<<8, {threads}>>>(p, o, 4); }}\n"


def source(
    name: str,
    threads: object = None,
    *,
    body: str = "o[0] = pick(p, n);",
    bound: str = "",
    header: str = "h.cuh",
) -> str:
    """A kernel that runs the header's function, with its launch."""
    text = KERNEL.format(header=header, bound=bound, name=name, body=body)
    return text + (LAUNCH.format(name=name, threads=threads) if threads is not None else "")


def caveat(directory: Path, block: int | None = None, **sources: str) -> tuple[str, str]:
    """The declaration and the promise, seen from ``a.cu``."""
    (directory / ".git").mkdir()
    (directory / "h.cuh").write_text(HEADER)
    for name, text in sources.items():
        (directory / name.replace("_", ".")).write_text(text)
    path, main = (str(directory / one) for one in ("h.cuh", "a.cu"))
    made = target(HEADER.replace("#pragma once", ""), "a", "float[32]", block=block)
    facts = replace(
        made.hits[0].facts,
        name="ka",
        demangled="ka(int*, float*, int)",
        location=SourceLocation(main, 2),
        objects=(replace(made.hits[0].facts.objects[0], declared=SourceLocation(path, 3)),),
    )
    files = Files()
    text = files.sources(main, CompileOptions())
    case, finding = next(iter(rules.cases(facts, text)))
    asked = Target(
        cause="dynamic-index",
        name="a",
        type="float[32]",
        place=SourceLocation(path, 3),
        declared_at=SourceLocation(path, 3),
        path=path,
        syntax=Syntax(HEADER.encode()),
        hits=(Hit(facts, finding, case),),
        asked_block=block,
        tree=files.syntax,
        kernels=(facts,),
    )
    found, declined = proposals(asked)
    shared = next((one for one in found if one.rewrite == "shared-memory"), None)
    assert shared is not None, declined
    assert shared.applicability == "unsafe"
    assert shared.caveat is not None
    return shared.summary, shared.caveat


def test_the_largest_block_of_all_sources_that_include_a_header_counts(tmp_path: Path) -> None:
    done, promised = caveat(tmp_path, a_cu=source("ka", 64), b_cu=source("kb", 256))
    assert "256 threads" in done
    assert promised == "no block that runs it has more than 256 threads"


@pytest.mark.parametrize(
    ("other", "threads"),
    [
        (source("kb", 256, body="o[0] = wrap(p, n);", header="mid.cuh"), 256),
        (source("kb", 256, body="o[0] = n;"), 64),
        (source("kb", bound="__launch_bounds__(128) "), 128),
        (source("kb", 32), 64),
    ],
    ids=["through another header", "does not run it", "bounded", "smaller"],
)
def test_which_kernels_of_other_sources_count(tmp_path: Path, other: str, threads: int) -> None:
    mid = '#include "h.cuh"\n__device__ float wrap(int *p, int n) { return pick(p, n); }\n'
    _, promised = caveat(tmp_path, a_cu=source("ka", 64), b_cu=other, mid_cuh=mid)
    assert promised == f"no block that runs it has more than {threads} threads"


def test_blocks_that_nothing_in_sight_says_are_named(tmp_path: Path) -> None:
    _, promised = caveat(tmp_path, a_cu=source("ka", 64), b_cu=source("kb", "size()"))
    assert promised == (
        "no block that runs it has more than 64 threads "
        "(nothing in sight says how many those of `kb` in `b.cu` have)"
    )


def test_what_the_user_says_does_not_take_back_a_launch_of_another_source(tmp_path: Path) -> None:
    done, _ = caveat(tmp_path, 64, a_cu=source("ka", 64), b_cu=source("kb", 256))
    assert "256 threads" in done
