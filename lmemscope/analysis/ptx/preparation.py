"""What facts and causes ask of a module first, made before anybody asks."""

from __future__ import annotations

from collections.abc import Callable

from lmemscope.analysis.ptx.callgraph import ModuleFlow


def prepare(flow: ModuleFlow, causes: bool, wanted: Callable[[str], bool]) -> None:
    """Analyse the functions that declare local memory and that kernels reach.

    Args:
        flow: of the module; it keeps what is made.
        causes: whether causes will be asked for, and not facts alone.
        wanted: whether they will be of a kernel, by its name in PTX.

    Raises:
        FormatError: a function cannot be read.
    """
    kernels = [one.name for one in flow.ptx.functions if one.kind == "entry" and wanted(one.name)]
    reached = {name for kernel in kernels for name in flow.reached(kernel)}
    for function in flow.ptx.functions:
        if function.name in reached and function.survey.declarations:
            objects = flow.objects(function.name)
            if objects is not None and causes:
                _ = objects.objects  # with all accesses, and how uniform their addresses are
