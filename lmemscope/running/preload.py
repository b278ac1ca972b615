"""What a worker loads before its first task arrives, in the order that costs least.

NVRTC's library takes longest and everything waits for it; the analysis is imported while NVRTC
compiles, which it does without holding the interpreter's lock. Where the cache is expected to
answer, NVRTC is left out until something misses.
"""

from __future__ import annotations

import contextlib
import threading

COLD = "lmemscope.running.preload:load_compiler"
WARM = "lmemscope.running.preload:load_analysis"


def load_compiler() -> None:
    """Load NVRTC and what calls it; what is missing is the first task's business to say."""
    with contextlib.suppress(ImportError, OSError, RuntimeError):
        from cupy_backends.cuda.libs import nvrtc

        nvrtc.getVersion()
    from lmemscope import pipeline
    from lmemscope.lowering import cuda

    assert cuda
    assert pipeline


def load_analysis() -> None:
    """Load all that a task needs but a compiler."""
    from lmemscope import pipeline
    from lmemscope.analysis import layers
    from lmemscope.lowering import cuda

    assert cuda
    assert layers
    assert pipeline
    _import_analysis()


def import_analysis_meanwhile() -> None:
    """Import the analysis in a thread; whoever needs it first waits for the import lock."""
    threading.Thread(target=_import_analysis, daemon=True).start()


def _import_analysis() -> None:
    # What the store's entries are read and written with.
    import msgspec

    from lmemscope import rules
    from lmemscope.analysis import explanation, facts
    from lmemscope.rules import verdict

    assert msgspec
    assert rules
    assert explanation
    assert facts
    assert verdict
