"""The settings under which `tune` assembles a kernel's PTX, and ptxas's options for them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from lmemscope.analysis.occupancy import multiprocessor
from lmemscope.model import CompileOptions
from lmemscope.rules.register_cap import ALLOCATION_UNIT, registers_for
from lmemscope.tools.ptxas import options_for

_LEAST_CAP = 24
"""The lowest cap: from sm_75 on, ptxas raises lower ones to it ("adjusting per thread register
count of 16 to lower bound of 24")."""
_UNCAPPED_THREADS = 256
"""A block size at which every thread can have the maximum number of registers."""
_DIRECTIVE = re.compile(r"\.(maxntid|reqntid|minnctapersm|maxnreg)\s+([\d\s,]+)")
_CAP_WORD = re.compile(r"-{1,2}(?:maxrregcount|minnctapersm|maxntid|override-directive-values)\b")
PRAGMA = b' .pragma "enable_smem_spilling";'


class Asked(Struct, frozen=True):
    """What to tune.

    Attributes:
        kernels: globs over kernels; none means all.
        block: threads per block, or None to take them from the source.
        launch_bounds: vary blocks per multiprocessor instead of register caps.
        smem_spilling: assemble points that spill a second time, spilling to shared memory.
    """

    kernels: tuple[str, ...] = ()
    block: int | None = None
    launch_bounds: bool = False
    smem_spilling: bool = False


class Setting(Struct, frozen=True):
    """One way to assemble a kernel.

    Attributes:
        cap: maximum registers per thread; None for no cap.
        min_blocks: minimum blocks per multiprocessor, of ``threads`` threads; None for no bounds.
        threads: per block, with ``min_blocks``.
        smem_spilling: whether registers are spilled to shared memory first.
        is_own: whether this is how the program compiles the kernel.
    """

    cap: int | None = None
    min_blocks: int | None = None
    threads: int | None = None
    smem_spilling: bool = False
    is_own: bool = False


NATURAL = Setting()
OWN = Setting(is_own=True)


class Directives(Struct, frozen=True):
    """The directives on blocks and registers in a kernel's PTX.

    Attributes:
        names: of the directives, with dots.
        threads: maximum per block, or None.
        limits: whether they reduce the registers available to a thread.
    """

    names: tuple[str, ...] = ()
    threads: int | None = None
    limits: bool = False

    @classmethod
    def of(cls, header: str) -> Directives:
        """Parse the text between a kernel's name and its body."""
        found: dict[str, int] = {}
        for name, values in _DIRECTIVE.findall(header):
            product = 1
            for number in values.split(","):
                product *= int(number) if number.strip().isdigit() else 1
            found[name] = product
        threads = found.get("reqntid", found.get("maxntid"))
        few = threads is not None and threads > _UNCAPPED_THREADS
        limits = few or "minnctapersm" in found or "maxnreg" in found
        return cls(tuple(sorted(f".{name}" for name in found)), threads, limits)


def words_for(
    setting: Setting, arch: str, options: CompileOptions, directives: Directives
) -> tuple[str, ...]:
    """The ptxas options besides architecture, report and line information."""
    if setting.is_own:
        return options_for(arch, options)[_GIVEN:]
    plain = replace(options, maxrregcount=None, ptxas_args=_without_caps(options.ptxas_args))
    words = [*options_for(arch, plain)[_GIVEN:]]
    if setting.min_blocks is not None:
        words += [f"-maxntid={setting.threads}", f"-minnctapersm={setting.min_blocks}"]
    elif setting.cap is not None:
        words.append(f"-maxrregcount={setting.cap}")
    elif directives.threads is not None and directives.threads > _UNCAPPED_THREADS:
        words.append(f"-maxntid={_UNCAPPED_THREADS}")
    else:
        return tuple(words)
    return (*words, "-override-directive-values") if directives.names else tuple(words)


def undone_in_text(setting: Setting, directives: Directives) -> frozenset[str]:
    """The directives to remove from the PTX.

    Only a cap overrides ``.maxnreg``. With a cap at the maximum number of registers, or a minimum
    of one block, ptxas allocates some kernels differently than without any limit.
    """
    if setting == NATURAL:
        return frozenset({".maxnreg", ".minnctapersm"}.intersection(directives.names))
    bounded = setting.min_blocks is not None
    return frozenset({".maxnreg"}.intersection(directives.names)) if bounded else frozenset()


_GIVEN = len(options_for("sm_90", CompileOptions()))
"""Options of every assembly: see `lmemscope.lowering.embedded_ptx.assembled`."""


def caps_below(natural: int) -> Iterator[Setting]:
    """The caps that make a difference: registers are allocated in units of 8 per thread."""
    for cap in range((natural - 1) // ALLOCATION_UNIT * ALLOCATION_UNIT, 0, -ALLOCATION_UNIT):
        if cap >= _LEAST_CAP:
            yield Setting(cap)


def bounds_for(arch: str, threads: int) -> Iterator[Setting]:
    """Minimum blocks per multiprocessor; of values that permit equal registers, the largest."""
    limits = multiprocessor(arch)
    warps = -(-threads // 32)
    most = min(limits.blocks, limits.warps // warps) if limits is not None else 0
    by_registers = {registers_for(threads, blocks): blocks for blocks in range(1, most + 1)}
    for cap, blocks in by_registers.items():
        yield Setting(cap, blocks, threads)


def _without_caps(words: Sequence[str]) -> tuple[str, ...]:
    """The user's own ptxas options, without those that this command varies."""
    kept: list[str] = []
    skips = False
    for word in words:
        if skips and not word.startswith("-"):
            skips = False
            continue
        found = _CAP_WORD.match(word)
        skips = found is not None and "=" not in word and "override" not in word
        if found is None:
            kept.append(word)
    return tuple(kept)
