"""Repositories of git with kernels in them."""

from __future__ import annotations

import subprocess
from pathlib import Path

KERNEL = """__global__ void {name}(int *p, int n) {{
  int t[{size}] = {{}};
  for (int i = 0; i < n; i++) t[p[i] % {size}u] += i;
  for (int i = 0; i < {size}; i++) p[i] = t[i];
}}
"""


def kernel(name: str, size: int = 20) -> str:
    """A kernel with an array of so many elements in local memory."""
    return KERNEL.format(name=name, size=size)


def git(directory: Path, *arguments: str) -> str:
    """Run git, as a user without settings; what it prints."""
    own = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *own, *arguments], cwd=directory, capture_output=True, text=True, check=True
    )
    return done.stdout
