"""Pointers into a column of shared memory: each program gives what it gave, or stays as it is."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lmemscope.model import Edit
from lmemscope.rewrites import proposals
from lmemscope.rewrites.accessors import joined
from lmemscope.sources.edits import patched
from tests.support.program import ROOT, run_program
from tests.support.rewriting import target

DATA = ROOT / "tests" / "support" / "data" / "shared_pointers"
KERNELS = ROOT / "benchmarks" / "data" / "fix_kernels"
BLOCK = 8
HOST = """\
#include <cstdio>
#include <cstring>
#include <algorithm>
#include <utility>
#define __host__
#define __device__
#define __global__
#define __noinline__
#define __forceinline__ inline
#define __restrict__
#define __align__(n) __attribute__((aligned(n)))
static struct { int x = 0, y = 0, z = 0; } threadIdx, blockIdx;
static struct { int x = 8, y = 1, z = 1; } blockDim, gridDim = {1, 1, 1};
static float fabsf_(float x) { return x < 0 ? -x : x; }
#define fabsf fabsf_
#define __fdividef(x, y) ((x) / (y))
template <class T> T min(T a, T b) { return b < a ? b : a; }
"""
MAIN = """
static unsigned state = 1;
static unsigned random_() { return state = state * 1664525u + 1013904223u, state >> 8; }
template <class Original, class Patched, class Space>
static void compare(const char *name, Original original, Patched patched, Space &space, int words) {
  static float in[4096], out[2][4096];
  static unsigned char before[sizeof(Space)];
  unsigned char *bytes = (unsigned char *)&space;
  int wrong = 0;
  for (int turn = 0; turn < 40; ++turn)
    for (int lane = 0; lane < 8; ++lane) {
      for (float &one : in) one = turn % 3 ? random_() % 9 : random_() % 1000 / 8.0f;
      std::memset(out, 0, sizeof out);
      for (unsigned n = 0; n < sizeof(Space); ++n) before[n] = bytes[n] = random_();
      threadIdx.x = lane;
      int n = 48;
      original(in, out[0], n);
      patched(in, out[1], n);
      wrong += std::memcmp(out[0], out[1], sizeof out[0]) != 0;
      for (unsigned n = 0; n < sizeof(Space); ++n)
        wrong += before[n] != bytes[n] && (int)(n / words % 8) != lane;
    }
  if (wrong) std::printf("%s: %d\\n", name, wrong);
}
int main() {
CALLS}
"""


def made(text: str, name: str, type_: str) -> tuple[str | None, tuple[str, ...]]:
    """The patched text, or why there is none."""
    given = target(text, name, type_, block=BLOCK)
    found, reasons = proposals(given)
    one = next((one for one in found if one.rewrite == "shared-memory"), None)
    whole = patched(text.encode(), one.edits).decode() if one is not None else None
    return whole, tuple(why.reason for why in reasons)


def kernel(body: str, before: str = "") -> str:
    lines = "".join(f"  {line}\n" for line in body.strip().splitlines())
    return f"{before}__global__ void k(const float *in, float *out, int n) {{\n{lines}}}\n"


def hoisted(text: str) -> tuple[str, int]:
    """The shared arrays as one global variable, and how many bytes of a lane follow each other."""
    spaces = re.findall(r"__shared__ ([^;]*);", text)
    text = re.sub(r"__shared__ [^;]*;", "", text)
    for one in spaces:
        name = re.search(r"(\w+)\[", one)
        assert name is not None
        text = re.sub(rb"\b%s\b".decode() % name[1], f"space.{name[1]}", text)
    sizes = {"double": 8, "unsigned char": 4, "signed char": 4, "short": 4, "Pair": 8}
    word = next((size for kind, size in sizes.items() if f"{kind} " in spaces[0]), 4)
    fields = "".join(f"{one}; " for one in spaces)
    at = text.index("__global__")
    return f"{text[:at]}static struct {{ {fields}}} space;\n{text[at:]}", word


def compared(directory: Path, programs: dict[str, tuple[str, str]]) -> str:
    """What differs between originals and their patched texts, run on the host."""
    text, calls = HOST, ""
    shared: dict[str, str] = {}
    # What stands before the kernels, and the namespace that has it.
    for name, (original, patch) in programs.items():
        hosted, word = hoisted(patch)
        before, found, kernel_ = original.partition("__global__")
        if before not in shared:
            shared[before] = f"before_{len(shared)}"
            text += f"namespace {shared[before]} {{\n{before}}}\n"
        original = f"using namespace {shared[before]};\n{found}{kernel_}"
        undefined = "".join(f"#undef {one}\n" for one in re.findall(r"#ifndef (\w+)", patch))
        text += f"namespace original_{name} {{\n{original}}}\n"
        text += f"{undefined}namespace patched_{name} {{\n{hosted}}}\n"
        calls += (
            f'  compare("{name}", original_{name}::k, patched_{name}::k, '
            f"patched_{name}::space, {word});\n"
        )
    (directory / "all.cpp").write_text(text + MAIN.replace("CALLS", calls))
    built = directory / "all"
    subprocess.run(["g++", "-std=c++17", "-w", "-o", built, f"{built}.cpp"], check=True)
    return subprocess.run([built], check=True, capture_output=True, text=True).stdout


FILL = "for (int j = 0; j < 24; ++j) a[j] = in[j];\n"
SUM = "float s = 0;\nfor (int j = 0; j < 24; ++j) s += a[j] * (j + 1);\nout[0] = s;\n"
ROWS_FILL = "for (int j = 0; j < 20; ++j) a[j / 5][j % 5] = in[j];\n"
ROWS_SUM = """\
float s = 0;
for (int j = 0; j < 20; ++j) s += a[j / 5][j % 5] * (j + 1);
out[0] = s;
"""
ROWS_BEFORE = """\
__device__ void subtract(float *row, const float *from, float x) {
  for (int j = 0; j < 3; ++j) row[j] -= from[j] * x;
}
__device__ void whole(float (*m)[5], int at) {
  float *row = m[at];
  for (int j = 0; j < 5; ++j) row[j] += m[3][j];
  subtract(m[1], row, 3);
}
__device__ float summed(const float (*m)[5], int at) {
  float s = 0;
  for (const float *row = m[at], *e = row + 5; row < e; ++row) s = s * 0.5f + *row;
  return s;
}
"""
SPACE = """\
float a[2][3][4];
for (int j = 0; j < 24; ++j) a[j / 12][j / 4 % 3][j % 4] = in[j];
float *q = a[1][0];
const float *e = &a[1][2][3];
while (q < e) *q++ += e[-1];
float s = 0;
for (int j = 0; j < 24; ++j) s += a[j / 12][j / 4 % 3][j % 4] * j;
out[0] = s;
"""
BEFORE = (DATA / "before.cu").read_text()
WITH_DECLARATIONS = {
    "declared_with": "float a[24], *q = a;\n" + FILL + "q[3] = 4;\n" + SUM,
    "declared_among": "float x = in[3], a[24], *q = a + 1, y = x;\n" + FILL + "q[3] = y;\n" + SUM,
    "initialized": "float a[24] = {in[0], 2, 3};\nfloat *q = a + 1; q[n % 7] += 1;\n" + SUM,
}
PAIRS = """\
Pair a[24];
for (int j = 0; j < 24; ++j) a[j].x = in[j], a[j].y = in[j + 24];
for (Pair *q = a, *e = &a[20]; q < e; q++) {
  q->x += (q + 1)->y;
  (*q).y = q[2].x;
  Pair h = *q;
  *q = q[1];
  q[1] = h;
}
float s = 0;
for (const Pair *q = a + 23; q >= a; --q) s = s * 0.5f + q->x * 2 + q->y;
out[0] = s;
"""


def programs(name: str) -> dict[str, str]:
    """The bodies of a file, by what follows their ``##``."""
    parts = re.split(r"^## ", (DATA / name).read_text(), flags=re.MULTILINE)[1:]
    return {one.partition("\n")[0]: one.partition("\n")[2] for one in parts}


def served() -> dict[str, tuple[str, str]]:
    """Programs whose array ``a`` goes into columns, with its shape."""
    found = {
        name.removesuffix(" +"): (
            kernel("float a[24];\n" + FILL + body + SUM * name.endswith(" +"), BEFORE),
            "[24]",
        )
        for name, body in programs("served.txt").items()
    }
    for name, body in WITH_DECLARATIONS.items():
        found[name] = kernel(body, BEFORE), "[24]"
    for name, body in programs("rows.txt").items():
        text = kernel("float a[4][5];\n" + ROWS_FILL + body + ROWS_SUM, ROWS_BEFORE)
        found[name] = text, "[4][5]"
    found["space"] = kernel(SPACE), "[2][3][4]"
    return found


def with_type(text: str, type_: str) -> str:
    """A program of floats with another type of elements."""
    kept = r"(?! s\b)(?! \*in\b)(?! \*out\b)(?! \*other\b)"
    return re.sub(r"\bfloat\b" + kept, type_, text)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a host compiler")
@pytest.mark.parametrize("type_", ["float", "double", "unsigned char"])
def test_pointers_find_the_elements_that_they_found(tmp_path: Path, type_: str) -> None:
    given = {}
    for name, (text, shape) in served().items():
        own = with_type(text, type_) if type_ != "float" else text
        patch, reasons = made(own, "a", type_ + shape)
        assert patch is not None, (name, reasons)
        assert "_pointer<" in patch or "_pointer_plane<" in patch or "_pointer_space<" in patch
        given[name] = (own, patch)
    if type_ == "float":
        pairs = kernel(PAIRS, "struct Pair { float x, y; };\n")
        patch, reasons = made(pairs, "a", "Pair[24]")
        assert patch is not None, reasons
        given["pairs"] = (pairs, patch)
    assert compared(tmp_path, given) == ""


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a host compiler")
def test_kernels_that_were_timed_give_the_same(tmp_path: Path) -> None:
    given = {}
    for name, arrays in {
        "cursor": ("runs[24]", "merged[24]"),
        "rows4": ("a[4][5]",),
        "candidate": ("text[16]",),
    }.items():
        text = (KERNELS / f"{name}.cu").read_text().replace(f"void {name}(", "void k(")
        text = text.replace('extern "C" ', "").replace(
            "const int *in, int *", "const float *in, float *"
        )
        edits: list[Edit] = []
        for one in arrays:
            array, _, extents = one.partition("[")
            type_ = ("unsigned char[" if name == "candidate" else "float[") + extents
            found, reasons = proposals(target(text, array, type_, block=BLOCK, line=one))
            edits += next((o.edits for o in found if o.rewrite == "shared-memory"), ())
            assert edits, reasons
        given[name] = (text, patched(text.encode(), joined(edits)).decode())
    assert compared(tmp_path, given) == ""


@pytest.mark.parametrize(("title", "body"), programs("declined.txt").items())
def test_what_may_go_elsewhere_stays(title: str, body: str) -> None:
    text = kernel("float a[24];\n" + FILL + body, BEFORE)
    patch, reasons = made(text, "a", "float[24]")
    assert patch is None
    reason = title.partition(": ")[2]
    shortened = [re.sub(r" ?\(line \d+\)|line \d+ ", "", one) for one in reasons]
    assert any(reason in one for one in shortened), shortened


@pytest.mark.parametrize("own", ["return this;", "V *v = this; return v;", "return self(this, 0);"])
def test_a_class_that_hands_out_its_address_stays(own: str) -> None:
    before = f"struct V {{ float x; __device__ V *self() {{ {own} }} }};\n"
    text = kernel("V a[24];\nV *q = a + n;\nout[0] = q->self()[1].x;\n", before)
    patch, reasons = made(text, "a", "V[24]")
    assert patch is None
    assert any("gets from one of its elements to the next" in one for one in reasons)
    patch, _ = made(text.replace(own, "return nullptr;"), "a", "V[24]")
    assert patch is not None


def test_a_copy_for_two_places_takes_both() -> None:
    text = kernel("float a[24];\n" + FILL + "move(a + 1, &a[3], 2);\n", BEFORE)
    patch, _ = made(text, "a", "float[24]")
    assert patch is not None
    assert (
        "__device__ __forceinline__ void move(lmem_pointer<float, 8> to, "
        "lmem_pointer<const float, 8> from, int count) {\n" in patch
    )
    assert "  move(a + 1, (a + (3)), 2);\n" in patch
    assert "__device__ void move(float *to, const float *from, int count) {\n" not in patch


def test_declarations_are_split_where_their_types_differ() -> None:
    body = "float x = in[3], *q = a, y = 2, *r = q + 1;\nconst float *const e = a, *z = a;\n"
    text = kernel("float a[24];\n" + FILL + body + "out[0] = *q + *r + *e + *z + x + y;\n")
    patch, _ = made(text, "a", "float[24]")
    assert patch is not None
    assert (
        "  float x = in[3];\n  lmem_pointer<float, 8> q = a;\n  float y = 2;\n"
        "  lmem_pointer<float, 8> r = q + 1;\n"
        "  const lmem_pointer<const float, 8> e = a;\n  lmem_pointer<const float, 8> z = a;\n"
    ) in patch


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("kernel_", "name", "line"),
    [
        ("cursor", "runs", "    lmem_pointer<const float, 256> a = runs, b = runs + 12;"),
        ("rows4", "a", "      lmem_pointer<const float, 256> pivot = a[order[column]];"),
        ("candidate", "text", "    int length = 4 + spell(first + k, text + 4);"),
    ],
)
def test_columns_with_pointers_leave_local_memory(
    tmp_path: Path, kernel_: str, name: str, line: str
) -> None:
    shutil.copy(KERNELS / f"{kernel_}.cu", tmp_path)
    how = ("--unsafe", "--block", "256", "--arch", "sm_90", "-j", "1", "--object", name)
    done = run_program("fix", f"{kernel_}.cu", *how, "--format", "json", cwd=tmp_path)
    found = json.loads(done.out)["candidates"]
    one = next(one for one in found if one["object"] == name and one["rewrite"] == "shared-memory")
    assert one["verdict"] == "removed"
    assert one["after"]["stack_frame"] < one["before"]["stack_frame"]
    assert one["rank"] is not None
    done = run_program("fix", f"{kernel_}.cu", *how, "--format", "patch", cwd=tmp_path)
    assert line in re.sub(r"^[+ ]", "", done.out, flags=re.MULTILINE)
