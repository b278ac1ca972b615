"""Which of a target's files a question reads, and how often."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from lmemscope.advising import targets
from lmemscope.model import CompileOptions
from lmemscope.model.blanked import blanked
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.reached import callers
from lmemscope.rewrites.written import homes
from lmemscope.sources.syntax import Syntax
from tests.support.builders import source_text
from tests.support.rewriting import target

FILES = {
    "/p/near.cuh": "#define TWICE(x) (scale(x) + scale(x))\n",
    "/p/far.cuh": "// No scaler.\n__device__ int other(int x) { return TWICE(x); }\n",
    "/p/apart.cuh": "__device__ int apart() { return 0; }\n",
}
TEXT = (
    "".join(f'#include "{one[3:]}"\n' for one in FILES)
    + """\
__device__ int scale(int x) {
  int a[8];
  a[x] = x;
  return a[x / 2];
}
__global__ void k(int *out) { out[0] = other(out[1]); }
"""
)


def given() -> tuple[Target, list[str]]:
    """A target, and the files whose trees it asks for."""
    read: list[str] = []
    trees = {path: Syntax(one.encode()) for path, one in FILES.items()}

    def tree(path: str) -> Syntax | None:
        read.append(path)
        return trees.get(path)

    made = target(TEXT, "a", "int[8]", files=FILES)
    (hit,) = made.hits
    sources = source_text({"/p/a.cu": TEXT, **FILES})
    hit = replace(hit, case=replace(hit.case, sources=sources))
    return replace(made, tree=tree, hits=(hit,)), read


def test_only_files_that_hold_a_word_are_read_as_trees() -> None:
    asked, read = given()
    assert [path for path, _ in asked.trees(b"scale")] == ["/p/a.cu", "/p/near.cuh", "/p/far.cuh"]
    assert "/p/apart.cuh" not in read
    assert [one.path for one in homes(asked, b"apart")] == ["/p/a.cu", "/p/apart.cuh"]
    assert len([*asked.trees()]) == 4
    assert len([*asked.trees("schräg".encode())]) == 4, "its encoding is not known"


def test_callers_are_followed_through_files_by_the_names_that_lead_on() -> None:
    asked, read = given()
    assert callers(asked, b"scale") == {b"scale", b"TWICE", b"other", b"k"}
    assert "/p/apart.cuh" not in read


def test_names_mean_the_same_in_each_of_the_files() -> None:
    asked, _ = given()
    found = [one.meanings for one in homes(asked)]
    assert len(found) == 4
    assert all(one is asked.meanings for one in found)


def test_a_file_is_blanked_once_for_lines_and_tree(tmp_path: Path) -> None:
    file = tmp_path / "a.cu"
    file.write_bytes(b'int a; // "\nint b;\n')
    blanked.cache_clear()
    files = targets.Files()
    syntax = files.syntax(str(file))
    assert syntax is not None
    one, other = (files.sources(str(file), CompileOptions(std=std)) for std in ("c++17", "c++20"))
    assert syntax.code.decode().splitlines() == [*one.code_lines(str(file))]
    assert one.code(str(file)) == other.code(str(file)) == "int a;     \nint b;"
    assert blanked.cache_info().misses == 1
