"""A header whose functions a macro makes the device's as well: its host still compiles it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.program import run_program

pytestmark = pytest.mark.toolchain

HEADER = """\
#pragma once
#ifdef __CUDACC__
#define BOTH __host__ __device__
#else
#define BOTH
#endif
namespace steps {
BOTH inline int letter(int code) {
    const char table[5] = {'N', 'A', 'C', 'G', 'T'};
    return code < 0 || code > 4 ? 'N' : table[code];
}
BOTH inline int total(const int *v, int count) {
    int sum = 0;
    for (int i = 0; i < count; ++i) sum = sum * 5 + v[i];
    return sum;
}
BOTH inline int mixed(const int *p, int n) {
    int a[8];
    for (int i = 0; i < 8; ++i) a[i] = p[i];
    for (int i = 0; i < n; ++i) a[p[i & 7] & 7] += a[(p[i & 7] + i) & 7] * 3;
    int sum = total(p, 3);
    for (int i = 0; i < 8; ++i) sum = sum * 5 + a[i];
    return sum;
}
}
"""
KERNEL = """\
#include "steps.h"
__global__ void k(const int *p, int *out) {
    int t = threadIdx.x;
    out[t] = steps::letter(p[t]) + steps::mixed(p + 8 * t, p[t]);
}
"""
MAIN = """\
#include "steps.h"
#include <cstdio>
int main() {
    int p[8] = {3, 1, 4, 1, 5, 9, 2, 6};
    for (int n = 0; n < 20; ++n) std::printf("%d %d\\n", steps::letter(n - 3), steps::mixed(p, n));
}
"""


def printed(directory: Path) -> str:
    """What the host's program prints."""
    words = ["g++", "-std=c++17", "-Wall", "-Wno-unknown-pragmas", "-Werror", "main.cpp"]
    subprocess.run([*words, "-o", "main"], cwd=directory, check=True)
    return subprocess.run(
        ["./main"], cwd=directory, check=True, capture_output=True
    ).stdout.decode()


def test_the_host_compiles_what_fix_has_made_of_it(tmp_path: Path) -> None:
    files = (("steps.h", HEADER), ("a.cu", KERNEL), ("main.cpp", MAIN))
    for name, text in files:
        (tmp_path / name).write_text(text)
    found = run_program("fix", "a.cu", "--arch", "sm_90", "--format", "json", cwd=tmp_path)
    removing = [one for one in found.document["candidates"] if one["verdict"] == "removed"]
    assert {(one["object"], one["rewrite"]) for one in removing} == {
        ("table", "static-table"),
        ("table", "select"),
        ("a", "select"),
    }
    before = printed(tmp_path)
    for one in removing:
        copy = tmp_path / f"{one['object']}-{one['rewrite']}"
        copy.mkdir()
        for name, text in files:
            (copy / name).write_text(text)
        subprocess.run(["git", "apply"], cwd=copy, check=True, input=one["patch"].encode())
        assert (copy / "steps.h").read_text() != HEADER
        assert printed(copy) == before
