"""Get the code that the installed CuPy puts around generated kernels, from CuPy itself."""

from __future__ import annotations

import functools
import json
import sys
import tempfile
from pathlib import Path

from lmemscope.errors import ToolMissingError
from lmemscope.sources.cupy_generated import CupyTemplates
from lmemscope.tools import cupy_child, process

_SECONDS = 60.0


@functools.lru_cache(maxsize=1)
def templates() -> CupyTemplates:
    """The code that CuPy puts around expressions; queried once per process.

    Raises:
        ToolMissingError: CuPy cannot be imported, or generates its kernels differently.
    """
    with tempfile.TemporaryDirectory(prefix="lmemscope-") as directory:
        answered = Path(directory, "answer.json")
        done = process.run(
            [sys.executable, "-P", cupy_child.__file__, str(answered)], timeout=_SECONDS
        )
        answer = json.loads(answered.read_text("utf-8")) if answered.exists() else {}
    if "elementwise" not in answer:
        said = answer.get("error") or f"it ended with code {done.returncode}"
        raise ToolMissingError(
            "cupy",
            f"CuPy does not show the kernels that it generates: {said}",
            hint="install CuPy 14: pip install 'cupy-cuda13x>=14.0'",
            log=done.output or None,
        )
    return CupyTemplates(answer["elementwise"], answer["reduction"], tuple(answer["headers"]))
