"""What facts and causes ask of a module first, made before anybody asks."""

from __future__ import annotations

from collections.abc import Callable

from lmemscope.analysis.ptx.callgraph import ModuleFlow


def prepare(flow: ModuleFlow, causes: bool, is_ended: Callable[[], bool]) -> None:
    """Analyse the functions that declare local memory, one by one.

    Args:
        flow: of the module; it keeps what is made.
        causes: whether causes will be asked for, and not facts alone.
        is_ended: whether it is no use any more; asked between two functions, so that each is done
            as a whole or not at all.

    Raises:
        FormatError: a function cannot be read.
    """
    for function in flow.ptx.functions:
        if is_ended():
            return
        objects = flow.objects(function.name) if function.survey.declarations else None
        if objects is not None and causes:
            _ = objects.objects  # with all accesses, and how uniform their addresses are
