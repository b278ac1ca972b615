"""Kernels run on the host: what each prints, with one start of the compiler for all of them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
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
template <class Kernel> void each(Kernel *kernel) {
  float out = 0;
  for (int n = 1; n >= 0; --n)
    for (int i = 0; i < blockDim.x; ++i) { threadIdx.x = i; kernel(&i, &out, n); }
  printf("%g ", out);
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
    names = _named(text for text, _ in programs)
    calls = [f"run(&{names[text]}::k, {turns}, {n});" for text, n in programs]
    found = _printed(directory, names, calls, threads, ()).split(_PARTED)[:-1]
    assert len(found) == len(programs)
    return found


def every_thread(
    directory: Path, programs: Sequence[str], threads: int, flags: Sequence[str] = ()
) -> list[int]:
    """What each kernel adds to where its second argument leads.

    Every thread of a block calls it with a third argument of 1, and then every thread with 0.

    Args:
        directory, programs, threads: as of `outputs`.
        flags: of the compiler.
    """
    names = _named(programs)
    calls = [f"each(&{names[text]}::k);" for text in programs]
    return [int(one) for one in _printed(directory, names, calls, threads, flags).split()]


def _named(texts: Iterable[str]) -> dict[str, str]:
    return {text: f"program_{number}" for number, text in enumerate(dict.fromkeys(texts))}


def _printed(
    directory: Path,
    names: Mapping[str, str],
    calls: Sequence[str],
    threads: int,
    flags: Sequence[str],
) -> bytes:
    lines = [_HEAD.replace("THREADS", str(threads))]
    for text, name in names.items():
        # Classes that a rewriting brings are guarded: each namespace has its own.
        guards = sorted(set(re.findall(r"#ifndef (\w+)", text)))
        lines += [*(f"#undef {one}" for one in guards), f"namespace {name} {{\n{text}\n}}"]
    lines += ["int main() {", *calls, "}\n"]
    source, built = directory / "all.cpp", directory / "all"
    source.write_text("\n".join(lines))
    subprocess.run(["g++", "-w", *flags, "-o", built, source], check=True)
    return subprocess.run([built], check=True, capture_output=True).stdout
