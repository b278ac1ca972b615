"""Which CUDA kernels use local memory, what causes it, and what would remove it.

`lmemscope.scan` is the whole program as a function::

    report = lmemscope.scan("kernels/", arch=["sm_90"])
    for unit in report.units:
        for kernel in unit.kernels:
            print(kernel.facts.demangled, kernel.facts.stack_frame, kernel.verdict.text)
"""

# No import from `__future__`: `python -m` would take that from the current directory, too.
import sys

if sys.argv[:1] == ["-m"] and any(word.endswith("lmemscope") for word in sys.orig_argv):
    # `python -m lmemscope` is on its way, which puts that directory first.
    from lmemscope.environment import import_path

    sys.path[:] = import_path()

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lmemscope.api import scan

__version__ = "1.0.0rc1"
__all__ = ["__version__", "scan"]


def __getattr__(name: str) -> Any:
    """Import `scan` when it is used: the command line must not pay for it."""
    if name == "scan":
        from lmemscope.api import scan

        return scan
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
