"""Ask the installed CuPy for the code around the kernels it generates; a separate process.

    python -P cupy_child.py ANSWER

ANSWER is a JSON file. Importing CuPy takes a third of a second and starts threads, so it is done
here, once per worker. No GPU is needed: CuPy compiles nothing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main() -> None:
    """Ask CuPy's own functions for kernels with placeholder expressions."""
    try:
        answer = _templates()
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    Path(sys.argv[1]).write_text(json.dumps(answer), encoding="utf-8")


def _templates() -> dict[str, object]:
    # CuPy has no public way to show its generated kernels without a device.
    from cupy._core import _kernel, _reduction, core

    nothing = _kernel._TypeMap(())  # noqa: SLF001
    elementwise = _kernel._get_elementwise_kernel_code(  # noqa: SLF001
        *((), nothing, (), "@bindings@@operation@", "@name@(@parameters@)//", "@preamble@"),
        *("@loop_prep@", "@after_loop@"),
    )
    reduction = _reduction._create_reduction_function_code(  # noqa: SLF001
        *("@name@(@parameters@)//", "@block_size@", "@reduce_type@", (), (), "@identity@"),
        *("@map_expr@", "@reduce_expr@", "@post_map_expr@", nothing),
        *("@input_expr@", "@output_expr@", "@preamble@", ()),
    )
    # The parameter list, empty here, is between the name and the brace.
    return {
        "elementwise": elementwise.replace("//() {", " {"),
        "reduction": reduction.replace("//() {", " {"),
        "headers": list(core._cupy_header_list),  # noqa: SLF001
    }


if __name__ == "__main__":
    main()
