"""Which templates a unit instantiates."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lmemscope.formats.demangle import demangle
from lmemscope.formats.kernel_names import is_instance
from lmemscope.model import Artifacts, KernelDefinition, base_name

if TYPE_CHECKING:
    from lmemscope.formats.cubin import Cubin


def has_instance(kernel: KernelDefinition, artifacts: Artifacts, cubin: Cubin) -> bool:
    """Whether a template is instantiated in a unit.

    The names of the compiled kernels tell. Among definitions that have a name in common, the lines
    of the code tell, unless the definitions may be alternatives of an ``#if``, or a template and
    its specialization.
    """
    source = artifacts.source
    made = [name for name in cubin.records if is_instance(demangle(name), kernel.name)]
    if not made or source is None:
        return False
    texts = ((artifacts.unit.path, source), *((one.path, one.source) for one in source.headers))
    defined = [
        (os.path.basename(path), one)
        for path, text in texts
        for one in text.kernels
        if not one.is_declaration and base_name(one.name) == base_name(kernel.name)
    ]
    alike = [(file, one) for file, one in defined if one.may_be(kernel)]
    tables = [cubin.source_lines.get(cubin.function(name).section, []) for name in made]
    if len(alike) == len(defined) or not all(tables):
        return True
    places = {row.chain[-1].location for table in tables for row in table}
    return any(
        os.path.basename(place.file) == file and one.line <= place.line <= one.end_line
        for place in places
        for file, one in alike
    )
