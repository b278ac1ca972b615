"""One rewriting for several objects, of which some may stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.app.session import Session
from lmemscope.config.settings import from_flags
from lmemscope.fixing.run import Asked, fix
from lmemscope.running.pool import WorkerPool

BUFFER_AND_SCHEDULE = """
__global__ void k(const unsigned char *x, unsigned *o, int n) {
  unsigned m[64];
  unsigned char data[64];
  int at = 0;
  for (int i = 0; i < n; ++i) { data[at++] = x[i]; if (at == 64) at = 0; }
  #pragma unroll 1
  for (int i = 0; i < 64; ++i) m[i] = i < 16 ? x[i] * 77u : m[i - 2] + (m[i - 7] ^ m[i - 15]);
  unsigned s = 0;
  #pragma unroll 1
  for (int i = 0; i < 64; ++i) s = s * 31 + m[i];
  #pragma unroll 1
  for (int i = 0; i < 8; ++i) s += data[i * 8];
  o[threadIdx.x] = s + data[at];
}
"""


@pytest.mark.toolchain
def test_what_stays_is_not_removed_by_what_removes_a_larger_one(tmp_path: Path) -> None:
    """Loops over both are unrolled: 256 bytes are gone, and the buffer of 64 is still there."""
    path = tmp_path / "a.cu"
    path.write_text(BUFFER_AND_SCHEDULE)
    with WorkerPool(1) as pool:
        settings = from_flags({"arch": ("sm_90",)}).settings
        _, outcome = fix([str(path)], Session(settings, pool), Asked(block=64))
    verdicts = {
        (one.object, len(one.rewriting.edits)): one.verdict
        for one in outcome.trials
        if one.rewriting.rewrite == "unroll"
    }
    assert verdicts["m", 3] == "removed"
    assert verdicts["data", 3] == "no-effect"
