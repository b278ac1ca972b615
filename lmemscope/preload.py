"""What a worker loads before its first task arrives, in the order that costs least.

NVRTC's library takes longest and everything waits for it; the analysis is imported while NVRTC
compiles, which it does without holding the interpreter's lock.
"""

from __future__ import annotations

import contextlib
import threading


def preload() -> None:
    """Load NVRTC and what calls it; what is missing is the first task's business to say."""
    with contextlib.suppress(ImportError, OSError, RuntimeError):
        from cupy_backends.cuda.libs import nvrtc

        nvrtc.getVersion()
    from lmemscope import lower, pipeline

    assert lower
    assert pipeline


def import_analysis_meanwhile() -> None:
    """Import the analysis in a thread; whoever needs it first waits for the import lock."""
    threading.Thread(target=_import_analysis, daemon=True).start()


def _import_analysis() -> None:
    from lmemscope import rules
    from lmemscope.analysis import explanation, facts, verdict

    assert rules
    assert explanation
    assert facts
    assert verdict
