"""Kernels run on the host: what each prints, with one start of the compiler for all of them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

_TRAP = b"trap\n"
_PARTED = b"\x0c\n"

_HEAD = """\
#include <cstdio>
#include <initializer_list>
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))
#define __trap() throw 1
struct { int x = 0, y = 0, z = 0; } threadIdx;
struct { int x = THREADS, y = 1, z = 1; } blockDim;
template <class Kernel> void turns(Kernel *kernel, int count, int n) {
  unsigned state = 7;
  for (int turn = 0; turn < count; ++turn) {
    int in[64];
    float out[64] = {};
    for (int &one : in) one = (state = state * 1664525 + 1013904223) >> 9;
    threadIdx.x = turn % blockDim.x;
    kernel(in, out, n < -9 ? turn % 60 : n);
    for (float one : out) printf("%g ", one);
    puts("");
  }
}
template <class Kernel> void run(Kernel *kernel, int count, int n) {
  try { turns(kernel, count, n); } catch (int) { puts("trap"); }
  puts("\\f");
}
"""
EACH_TURN = -10
"""A third argument that is another one in each turn."""


def is_trap(printed: bytes) -> bool:
    """Whether all that a program did was to end."""
    return printed == _TRAP


def outputs(
    directory: Path, programs: Sequence[tuple[str, int]], turns: int, threads: int = 1
) -> list[bytes]:
    """What each kernel ``k`` stores.

    Args:
        directory: an empty one.
        programs: the text of each with a ``void k(const int *, float *, int)``, and its third
            argument.
        turns: how often it is called, with other values each time.
        threads: in a block.
    """
    texts = {text: f"program_{number}" for number, text in enumerate(dict(programs))}
    lines = [_HEAD.replace("THREADS", str(threads))]
    for text, name in texts.items():
        # Classes that a rewriting brings are guarded: each namespace has its own.
        guards = sorted(set(re.findall(r"#ifndef (\w+)", text)))
        lines += [*(f"#undef {one}" for one in guards), f"namespace {name} {{\n{text}\n}}"]
    lines.append("int main() {")
    lines += [f"  run(&{texts[text]}::k, {turns}, {n});" for text, n in programs]
    lines.append("}\n")
    source, built = directory / "all.cpp", directory / "all"
    source.write_text("\n".join(lines))
    subprocess.run(["g++", "-w", "-o", built, source], check=True)
    printed = subprocess.run([built], check=True, capture_output=True).stdout
    found = printed.split(_PARTED)[:-1]
    assert len(found) == len(programs)
    return found
