"""Run a user's file and record the CuPy kernels it makes; a separate process, only on request.

    python -P cupy_capture.py REQUEST ANSWER

No GPU is needed: kernel constructors return stand-ins, which neither compile nor launch anything. A
file that needs a GPU for more than kernels ends with its error; what it made before is reported.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_CLASSES = ("RawKernel", "RawModule", "ElementwiseKernel", "ReductionKernel")
_MOST = 2000
"""Maximum number of kernels recorded."""


def main() -> None:
    """Read the request, run the file, write the answer."""
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    made: list[dict[str, Any]] = []
    error = None
    try:
        _intercept(made, request["path"])
        _run(request["path"])
    except SystemExit:
        pass
    except BaseException as raised:  # noqa: BLE001 - the user's code may raise anything
        error = f"{type(raised).__name__}: {raised}"
    Path(sys.argv[2]).write_text(json.dumps({"made": made, "error": error}), encoding="utf-8")


def _run(path: str) -> None:
    import importlib.util

    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_run.py")
    spec = importlib.util.spec_from_file_location("_lmemscope_python_run", beside)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.run(path)


def _intercept(made: list[dict[str, Any]], path: str) -> None:
    import cupy
    from cupy import _core, _util

    own = [os.path.dirname(os.path.abspath(str(cupy.__file__)))]
    own.append(os.path.join(os.path.dirname(own[0]), "cupyx"))
    skipped = [f"{one}{os.sep}" for one in own if not path.startswith(f"{one}{os.sep}")]
    for name in _CLASSES:
        stand_in = _stand_in(name, made, skipped)
        for module in (cupy, _core, _core.core):
            if hasattr(module, name):
                setattr(module, name, stand_in)
    # CuPy's own version queries the device.
    cupy.memoize = _util.memoize = _memoize
    # A package may skip its kernels if there is no GPU.
    cupy.is_available = cupy.cuda.is_available = lambda: True


def _stand_in(kind: str, made: list[dict[str, Any]], skipped: list[str]) -> type:
    class Made:
        def __init__(self, *arguments: Any, **words: Any) -> None:
            frame = sys._getframe(1)  # noqa: SLF001 - who makes it
            file = os.path.abspath(frame.f_code.co_filename)
            if len(made) < _MOST and not file.startswith(tuple(skipped)):
                made.append(
                    {
                        "kind": kind,
                        "arguments": [_told(one) for one in arguments],
                        "words": {name: _told(one) for name, one in words.items()},
                        "file": file,
                        "line": frame.f_lineno,
                    }
                )
            self.code = words.get("code", arguments[0] if arguments else None)
            self.name = self.__name__ = words.get("name", "kernel")
            self.options = words.get("options", ())
            self.max_dynamic_shared_size_bytes = 0

        def __call__(self, *_: Any, **__: Any) -> None:
            """Launch nothing."""

        def get_function(self, name: str) -> Made:
            """A kernel of the module."""
            del name
            return self

        def compile(self, *_: Any, **__: Any) -> None:
            """Compile nothing."""

    Made.__name__ = Made.__qualname__ = kind
    return Made


def _told(value: Any) -> Any:
    """A value as JSON represents it; None for other types."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_told(one) for one in value]
    return {"unknown": type(value).__name__}


def _memoize(*_: Any, **__: Any) -> Callable[..., Any]:
    import functools

    return functools.lru_cache(maxsize=None)


if __name__ == "__main__":
    main()
