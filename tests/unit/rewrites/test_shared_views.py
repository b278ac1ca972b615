"""Views of columns of shared memory: no two elements of any threads share a place."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lmemscope.rewrites import proposals
from lmemscope.sources.edits import patched
from tests.support.rewriting import kernel, target

HOST = """\
#include <cstdio>
#define __host__
#define __device__
#define __forceinline__ inline
#define __align__(n) __attribute__((aligned(n)))
struct { int x = 0, y = 0, z = 0; } threadIdx;
struct { int x = 4, y = 2, z = 1; } blockDim;
%(classes)s
static %(space)s
int main() {
  int wrong = 0;
  for (int turn = 0; turn < 2; ++turn)
    for (threadIdx.y = 0; threadIdx.y < 2; ++threadIdx.y)
      for (threadIdx.x = 0; threadIdx.x < 4; ++threadIdx.x) {
        %(view)s
        int lane = threadIdx.x + 4 * threadIdx.y, number = 0;
        %(loops)s {
          %(type)s own = (%(type)s)(31 * lane + 7 * number++ + 1);
          if (turn == 0) %(put)s;
          else if (a%(element)s != own) ++wrong;
        }
      }
  printf("%%d %%d", wrong, (int)sizeof(a_lmem));
}
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a host compiler")
@pytest.mark.parametrize(
    ("type_", "extents", "bytes_", "rewrite"),
    [
        ("float", (5,), 160, "shared-memory"),
        ("double", (5, 3), 960, "shared-memory"),
        ("int", (2, 3, 4), 768, "shared-memory"),
        ("unsigned char", (7,), 64, "shared-memory"),
        ("short", (3, 5), 288, "shared-memory"),
        ("signed char", (2, 3, 5), 384, "shared-memory"),
        ("int", (9,), 96, "narrow"),
        ("unsigned", (9,), 160, "narrow"),
    ],
)
def test_every_element_of_every_thread_has_its_own_place(
    tmp_path: Path, type_: str, extents: tuple[int, ...], bytes_: int, rewrite: str
) -> None:
    shape = "".join(f"[{one}]" for one in extents)
    put = {96: "200", 160: "2000"}[bytes_] if rewrite == "narrow" else "1"
    text = kernel(f"{type_} a{shape};", f"a{'[n]' * len(extents)} = {put};")
    given = target(text, "a", type_ + shape, block=8)
    one = next(one for one in proposals(given)[0] if one.rewrite == rewrite)
    made = patched(text.encode(), one.edits).decode()
    names = "ijh"[: len(extents)]
    loops = "".join(
        f"for (int {i} = 0; {i} < {n}; ++{i}) " for i, n in zip(names, extents, strict=True)
    )
    element = "".join(f"[{i}]" for i in names)
    space = re.search(r"__shared__ (.*;)", made)
    view = re.search(r"const lmem_\w+<.* a = .*;", made)
    assert space is not None
    assert view is not None
    program = HOST % {
        "classes": made.partition("__global__")[0],
        "space": space[1],
        "view": view[0],
        "loops": loops,
        "type": "unsigned char" if put == "200" else type_,
        "element": element,
        "put": "a.set(i, own)" if rewrite == "narrow" else f"a{element} = own",
    }
    (tmp_path / "views.cpp").write_text(program)
    built = tmp_path / "views"
    subprocess.run(["g++", "-w", "-o", built, f"{built}.cpp"], check=True)
    printed = subprocess.run([built], check=True, capture_output=True).stdout
    assert printed == f"0 {bytes_}".encode()


def rewrites(type_: str, line: str, before: str = "") -> dict[str, str]:
    """What is offered, with the text of its edits."""
    element, _, extents = type_.partition("[")
    text = kernel(f"{element} a[{extents};", line, "out[0] = a[n & 1][n & 3];", before=before)
    found = proposals(target(text, "a", type_))[0]
    return {one.rewrite: "".join(each.text.decode() for each in one.edits) for one in found}


@pytest.mark.parametrize(
    "before",
    [
        "",
        "__device__ void fill(unsigned char (*to)[5]) {\n"
        "  for (int i = 0; i < 15; ++i) to[0][i] = 1;\n}\n",
    ],
)
def test_what_goes_on_from_row_to_row_needs_rows_that_follow_each_other(before: str) -> None:
    beyond = "fill(a);" if before else "for (int i = 0; i < 15; ++i) a[0][i] = i;"
    found = rewrites("unsigned char[3][5]", beyond, before)
    assert "select" not in found
    assert "a_lmem[((3 * 5) + 3) / 4][64][4]" in found["shared-memory"]
    within = "for (int i = 0; i < 5; ++i) a[0][i] = i;"
    found = rewrites("unsigned char[3][5]", within)
    assert "select" in found
    assert "a_lmem[3][2][64][4]" in found["shared-memory"]
    found = rewrites("int[3][5]", "for (int i = 0; i < 15; ++i) a[0][i] = i;")
    assert "a_lmem[3][5][64]" in found["shared-memory"]
    assert "select" not in found
    assert {"shared-memory", "select"} <= set(rewrites("short[3][5]", "a[1][n] = 3;"))
    for row, may_stay in (("0", False), ("1", True)):
        up_to = f"for (int i = 0; i < n; ++i) a[{row}][i] = i;"
        assert ("select" in rewrites("int[3][5]", up_to)) is may_stay
    assert "select" not in rewrites("short[3][5]", "a[0][n] = 3;")


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a host compiler")
@pytest.mark.parametrize(
    ("type_", "alignment"),
    [("unsigned char[32]", 4), ("short[3]", 4), ("float[8]", 4), ("double[4]", 8)],
)
def test_rows_begin_at_a_word_and_are_an_odd_number_of_them_long(
    type_: str, alignment: int, tmp_path: Path
) -> None:
    element, _, extent = type_.partition("[")
    text = kernel(f"{element} a[{extent};", f"{element} *p = a + n;", "out[0] = *p;")
    found, _ = proposals(target(text, "a", type_))
    made = patched(text.encode(), next(o for o in found if o.rewrite == "shared-row").edits)
    classes = made.decode().partition("__global__")[0]
    asked = f'sizeof(lmem_row<{type_}>) / {alignment} % 2 == 1, "");\n'
    (tmp_path / "rows.cpp").write_text(
        f"{classes}static_assert({asked}static_assert(alignof(lmem_row<{type_}>) == {alignment}"
        f' && sizeof(lmem_row<{type_}>) >= sizeof({type_}), "");\n'
    )
    subprocess.run(["g++", "-fsyntax-only", "rows.cpp"], check=True, cwd=tmp_path)
