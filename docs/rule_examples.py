"""The kernels that a rule's page shows, before and after, quoted out of ``kernels/``.

A row of `EXAMPLES` names kernels; their text stands in ``kernels/`` alone, their figures in
``docs/rule_figures.json`` (`docs.rule_figures`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).parent.parent
Build = Literal["release", "debug", "bare"]
"""How a kernel is compiled: as everything is, with ``-G``, or to a cubin without lines."""
BUILDS: dict[Build, str] = {
    "release": "",
    "debug": " with `-G`",
    "bare": ", its cubin without `-lineinfo`",
}
_NO_DEFINITION = re.compile(r"//.*|\{[^{}]*\}")
"""Comments, and innermost braces with what is in them."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One kernel of an example.

    Attributes:
        kernel: its name.
        uses: what else of the file is quoted with it.
        build: how it is compiled.
    """

    kernel: str
    uses: tuple[str, ...] = ()
    build: Build = "release"


@dataclass(frozen=True, slots=True)
class Example:
    """A kernel that a rule speaks of, and what becomes of it.

    Attributes:
        rule: the rule's number.
        source: a file of ``kernels/``.
        before, after: the kernels; no ``after`` where nothing is to be removed.
        note: what their reader should know besides.
        asked: whether ``lmemscope fix`` is asked what it has for ``before``.
        rewrite: by which rewrites it removes it; empty where it does not.
    """

    rule: str
    source: str
    before: Shown
    after: Shown | None
    note: str = ""
    asked: bool = True
    rewrite: str = ""


EXAMPLES = (
    Example(
        "LM101",
        "thirty_doubles.cu",
        Shown("thirty_doubles_capped", ("mix",)),
        Shown("thirty_doubles"),
        "With 68 registers a block has at most 896 threads. One of 1024 has 64 registers per "
        "thread, and spills a few bytes, or moves them to shared memory.",
        rewrite="launch-bounds+smem-spilling",
    ),
    Example(
        "LM102",
        "callee_saves.cu",
        Shown("model_called", ("evaluate", "cubic", "models")),
        Shown("model_inlined"),
        "The table of pointers forces both functions to keep to the calling convention, even in "
        "direct calls.",
        rewrite="force-inline",
    ),
    Example(
        "LM201",
        "histogram.cu",
        Shown("histogram_private"),
        Shown("histogram_shared"),
        "The bins of a block take 32 KB of shared memory, so fewer blocks are resident.",
        rewrite="shared-memory",
    ),
    Example(
        "LM202",
        "rolled_loop.cu",
        Shown("reverse_rolled"),
        Shown("reverse_unrolled"),
        rewrite="unroll",
    ),
    Example(
        "LM203",
        "large_array.cu",
        Shown("decay_kept"),
        Shown("decay_streamed"),
        "The second kernel needs no array: it reads its input in order of use.",
    ),
    Example(
        "LM204",
        "constant_table.cu",
        Shown("table_per_thread"),
        Shown("table_shared_by_all", ("Table", "kTable")),
        "Lanes read different elements, so the table is in device memory and not `__constant__`.",
        rewrite="shared-memory",
    ),
    Example(
        "LM301",
        "call_with_array.cu",
        Shown("smooth_called", ("weigh_called",)),
        Shown("smooth_inlined", ("weigh_inlined",)),
        rewrite="force-inline",
    ),
    Example(
        "LM302",
        "parameter_copy.cu",
        Shown("settings_changed", ("Settings",)),
        Shown("settings_read"),
        "The second kernel sums separately what the first adds to its copy.",
    ),
    Example(
        "LM303",
        "volatile_local.cu",
        Shown("sum_volatile"),
        Shown("sum_plain"),
        "CUDA 12.9 keeps `sum` in registers anyway (see [promoted](promoted.md)).",
        rewrite="drop-volatile",
    ),
    Example(
        "LM401",
        "printing.cu",
        Shown("report_negative"),
        Shown("count_negative"),
        "The second kernel only counts the values.",
        asked=False,
    ),
    Example(
        "LM402",
        "double_sin.cu",
        Shown("wave_any"),
        Shown("wave_turns"),
        "The second kernel's argument is in turns, not in radians.",
        asked=False,
    ),
    Example(
        "LM403",
        "function_pointer.cu",
        Shown("operation_pointer", ("add",)),
        Shown("operation_switch"),
    ),
    Example(
        "LM404",
        "run_time_stack.cu",
        Shown("scratch_alloca"),
        Shown("scratch_shared"),
        "The second kernel takes `n * blockDim.x` floats of dynamic shared memory, which the table "
        "does not count.",
    ),
    Example(
        "LM405",
        "device_launch.cu",
        Shown("parent_launches", ("scale_child",)),
        Shown("parent_loops"),
        "There is no local memory to remove; the second kernel does the child's work without a "
        "launch. The figures exclude what linking adds.",
    ),
    Example(
        "LM405",
        "device_launch_pointer.cu",
        Shown("parent_hands_over_local", ("scale_given",)),
        Shown("parent_hands_over_global"),
        "The child gets global memory, which removes the error, and here the array too.",
    ),
    Example(
        "LM501",
        "thirty_doubles.cu",
        Shown("thirty_doubles", build="debug"),
        Shown("thirty_doubles"),
        "Only the option is dropped; `mix` is on the page of [register-spill](register-spill.md). "
        "Generic instructions (LD and ST) access the frame; LDL/STL do not count them.",
        asked=False,
    ),
    Example(
        "LM601",
        "promoted.cu",
        Shown("pick_of_four"),
        None,
        "The SASS has no local memory.",
        asked=False,
    ),
    Example(
        "LM901",
        "histogram.cu",
        Shown("histogram_private", build="bare"),
        Shown("histogram_private"),
        "With the source, or with lines in the cubin, the cause is known: "
        "[dynamic-index](dynamic-index.md).",
        asked=False,
    ),
)
"""In the order of the pages; a rule may have several."""


def examples_of(rule: str) -> list[tuple[str, Example]]:
    """A rule's examples with their keys among the figures: its number, and from the second on a
    count.
    """
    own = [example for example in EXAMPLES if example.rule == rule]
    return [(rule if not at else f"{rule}-{at + 1}", one) for at, one in enumerate(own)]


def keyed() -> Iterator[tuple[str, Example]]:
    """All examples with their keys."""
    for rule in dict.fromkeys(example.rule for example in EXAMPLES):
        yield from examples_of(rule)


def quoted(source: str, names: tuple[str, ...]) -> str:
    """The paragraphs of a file of ``kernels/`` that define some names, as they stand there.

    Raises:
        LookupError: none defines a name, or a definition has an empty line in it.
    """
    text = (ROOT / "kernels" / source).read_text()
    paragraphs = re.split(r"\n{2,}", text.strip())
    chosen = {_defining(paragraphs, name, source) for name in names}
    return "\n\n".join(paragraphs[at] for at in sorted(chosen))


def _defining(paragraphs: list[str], name: str, source: str) -> int:
    """The first paragraph that has a name outside braces: what is used was defined before."""
    for at, paragraph in enumerate(paragraphs):
        bare = paragraph
        while (shorter := _NO_DEFINITION.sub("", bare)) != bare:
            bare = shorter
        if re.search(rf"\b{name}\b", bare):
            if "{" in bare or "}" in bare:
                raise LookupError(f"kernels/{source}: the definition of {name} has empty lines")
            return at
    raise LookupError(f"kernels/{source} defines no {name}")
