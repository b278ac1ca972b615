"""What one warp of a kernel does: its PTX, its local accesses, weighted by how often they run.

Instructions are those of the PTX, which says in which loop each is; NVVM has unrolled loops by
then, and what a proxy selects is written out. Local memory is that of the machine code: ptxas
decides what stays in registers. A PTX access that ptxas copies, because it unrolls its loop, is
executed as often as before.
"""

from __future__ import annotations

import copy
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from lmemscope.analysis.layers import Layers
from lmemscope.analysis.loop_counts import LinesOf, counts_in
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.chains import longest_chain
from lmemscope.analysis.ptx.diverging import Divergence
from lmemscope.analysis.ptx.effects import effects
from lmemscope.analysis.ptx.flow import is_local_access
from lmemscope.analysis.ptx.fusions import Fusions
from lmemscope.analysis.ptx.promoted import Selection, promoted
from lmemscope.analysis.ptx.slicing import Dataflow
from lmemscope.analysis.ptx.timing import executed, width
from lmemscope.formats.cubin import Cubin
from lmemscope.formats.float_code import float_operations
from lmemscope.formats.kernel_names import stable_name
from lmemscope.formats.ptx_body import Instruction
from lmemscope.formats.ptx_isa import GENERIC
from lmemscope.model import (
    PIPES,
    STALLS,
    KernelFacts,
    LocalAccess,
    LocalObject,
    LoopCounts,
    ObjectWork,
    Uniformity,
    Work,
)

_LANES, _WORD, _LINE, _SECTOR = 32, 4, 128, 32
_RELOADS = 8
"""Spills that are loaded back together before the first of them is waited for."""
_TABLE = 16 << 10
"""Bytes of what stays in L1 beside all else, whatever reads it."""
_RARE = 1 / 64
"""How often a library's slow path is taken: only arguments beyond 105615 (float) need it."""
_DIVERGED_SLOTS, _DIVERGED_WAIT = 4, 5
"""Issue slots that a branch on which a warp's lanes part takes beside itself, and how often as long
as arithmetic the warp waits: 20 cycles. Measured on an H100 with `benchmarks/instruction_fetch.py`,
against a branch that no lane takes."""
_PARAMETER = "_param_"
"""Between a kernel's name and the number of its parameter, in PTX."""
_CALLS = 1e9
"""No function runs more often than that: recursion ends."""


def works_of(
    layers: Layers,
    plain: Iterable[KernelFacts],
    named: Iterable[KernelFacts],
    counts: Iterable[LoopCounts],
    lines_of: LinesOf,
) -> dict[str, Work | None]:
    """What kernels do, by name.

    Args:
        layers: the unit's.
        plain: facts of the kernels, found without names of variables.
        named: facts of the same, whose arrays have types where those are known.
        counts: how often loops are taken to run, by the names of kernels and parameters in the unit
            that they were told in. Kernels that are not among them tell their own.
        lines_of: the source's text.
    """
    # The names of what is static in a file hold a hash of its path, which a copy of it has not.
    given = {stable_name(one.kernel): one for one in counts}
    arrays = {fact.name: fact.objects for fact in named}
    found: dict[str, Work | None] = {}
    for fact in plain:
        told = given.get(stable_name(fact.name))
        if told is not None:
            positions = ((name.rpartition(_PARAMETER)[2], number) for name, number in told.largest)
            largest = tuple((f"{fact.name}{_PARAMETER}{at}", number) for at, number in positions)
            told = LoopCounts(fact.name, largest, told.loops, told.heads)
        found[fact.name] = work_of(layers, fact, told, arrays.get(fact.name, ()), lines_of)
    return found


def work_of(
    layers: Layers,
    facts: KernelFacts,
    told: LoopCounts | None = None,
    arrays: Iterable[LocalObject] = (),
    lines_of: LinesOf | None = None,
) -> Work | None:
    """What a warp of a kernel does; None without PTX.

    Args:
        layers: the unit's.
        facts: the kernel's, with its accesses. Those of two kernels compare where both, or
            neither, were found with the names of variables.
        told: how often its loops are taken to run; None to tell it by its own arrays. Those of two
            kernels compare where both take the same.
        arrays: its objects with their types, as far as these are known.
        lines_of: the source's text; None where loops are not to be told to another version.
    """
    counted = PtxWork.of(layers, facts, told, arrays, lines_of)
    if counted is None:
        return None
    return replace(counted.with_accesses(facts), floats=_floats(layers.cubin, facts.name))


def _floats(cubin: Cubin, name: str) -> tuple[int, ...]:
    is_known = name in cubin.records and cubin.is_wide
    return float_operations(cubin.code(cubin.function(name))) if is_known else ()


class PtxWork:
    """What a warp of a kernel does by its PTX, whatever machine code ptxas makes of that.

    ptxas keeps the same variables in registers under each register cap: counted once, it serves all
    of them.

    Args:
        flow: of the module.
        facts: of the kernel, with its accesses.
        loops: how often its loops are taken to run.
    """

    def __init__(self, flow: ModuleFlow, facts: KernelFacts, loops: LoopCounts) -> None:
        calls = call_counts(flow, facts.name, Dataflow.weight)
        self._counted, self._lanes = _Counted(), dict[int, float]()
        in_registers = promoted(flow, calls, facts)
        rare = frozenset(one.ptx_line for one in facts.accesses if one.cause == "math-slow-path")
        for name, often in calls.items():
            dataflow = flow.dataflow(name)
            if dataflow is not None:
                divergence = Divergence(dataflow)
                self._counted.function(dataflow, divergence, often, in_registers, rare)
                for line, indices in dataflow.by_line.items():
                    self._lanes[line] = max(map(divergence.active, indices))
        self._weights = line_weights(flow, calls, Dataflow.weight)
        self._loops = loops
        self._effects = effects(flow, facts.name)

    @classmethod
    def of(
        cls,
        layers: Layers,
        facts: KernelFacts,
        told: LoopCounts | None = None,
        arrays: Iterable[LocalObject] = (),
        lines_of: LinesOf | None = None,
    ) -> PtxWork | None:
        """Of a kernel; None without PTX. Arguments as of `work_of`."""
        flow = layers.flow
        if flow is None or flow.dataflow(facts.name) is None:
            return None
        return cls(flow, facts, counts_in(flow, facts.name, told, arrays, lines_of))

    def with_accesses(self, facts: KernelFacts) -> Work:
        """All of it, with the accesses of local memory in machine code of the PTX."""
        counted, frame = copy.deepcopy(self._counted), frame_of(facts)
        counted.local(facts.accesses, self._weights, self._lanes, frame, facts.objects)
        work = counted.work(frame, facts.cubin.code_bytes if facts.cubin is not None else None)
        return replace(
            work,
            largest=self._loops.largest,
            loops=self._loops.loops,
            heads=self._loops.heads,
            effects=self._effects,
            objects=tuple(self._objects(facts, frame)),
        )

    def _objects(self, facts: KernelFacts, frame: int) -> Iterator[ObjectWork]:
        """The accesses of each object by themselves."""
        by_object: dict[int, list[LocalAccess]] = defaultdict(list)
        for access in facts.accesses:
            if access.object is not None:
                by_object[access.object].append(access)
        for number, own in sorted(by_object.items()):
            executed = []
            for is_store in (False, True):
                counted = _Counted()
                some = [one for one in own if one.is_store == is_store]
                counted.local(some, self._weights, self._lanes, frame, facts.objects)
                executed.append(counted.work(frame, None))
            loads, stores = executed
            yield ObjectWork(
                number,
                loads.instructions,
                stores.instructions,
                loads.local_lines + stores.local_lines,
                loads.local_sectors + stores.local_sectors,
                stores.local_lines,
                stores.local_sectors,
                loads.varying_lines + stores.varying_lines,
            )


def local_work(
    accesses: Iterable[LocalAccess],
    weights: Mapping[int, float],
    frame: int,
    objects: Sequence[LocalObject],
) -> Work:
    """What a warp with all of its lanes does to local memory, and nothing else of it.

    Args:
        accesses: of a kernel, some or all.
        weights: how often what is on a PTX line runs; once where that is not known.
        frame: bytes per thread.
        objects: of the kernel.
    """
    counted = _Counted()
    counted.local(accesses, weights, {}, frame, objects)
    return counted.work(frame, None)


def call_counts(
    flow: ModuleFlow, kernel: str, weight: Callable[[Dataflow, int], float]
) -> dict[str, float]:
    """How often a warp runs each function of a kernel.

    Args:
        flow: of the module.
        kernel: its name.
        weight: how often an instruction runs for each call of its function.
    """
    often: dict[str, float] = defaultdict(float)
    often[kernel] = 1.0
    # Callers before callees; a function that reaches itself is taken to run once more.
    for name in _ordered(flow, kernel):
        dataflow = flow.dataflow(name)
        if dataflow is None:
            continue
        for call in dataflow.flow.calls:
            if call.callee is not None and call.callee in flow.callees:
                times = often[name] * weight(dataflow, call.index)
                often[call.callee] = min(_CALLS, often[call.callee] + times)
    return often


def _ordered(flow: ModuleFlow, kernel: str) -> list[str]:
    """Functions that a kernel reaches, callers first as far as there are no cycles."""
    done: dict[str, None] = {}
    work: list[tuple[str, bool]] = [(kernel, False)]
    seen: set[str] = set()
    while work:
        name, ended = work.pop()
        if ended:
            done[name] = None
        elif name not in seen and name in flow.callees:
            seen.add(name)
            work.append((name, True))
            work += [(callee, False) for callee in flow.callees[name]]
    return [*reversed(done)]


def line_weights(
    flow: ModuleFlow, calls: Mapping[str, float], weight: Callable[[Dataflow, int], float]
) -> dict[int, float]:
    """How often what is on a PTX line runs; arguments as for `call_counts`, which ``calls`` are."""
    found: dict[int, float] = {}
    for name, often in calls.items():
        dataflow = flow.dataflow(name)
        if dataflow is not None:
            for line, indices in dataflow.by_line.items():
                found[line] = often * max(weight(dataflow, index) for index in indices)
    return found


def frame_of(facts: KernelFacts) -> int:
    """Bytes per thread; of a call path as far as it is known."""
    own = facts.stack_frame or 0
    called = (one.ptxas.stack_frame or 0 for one in facts.callees if one.ptxas is not None)
    return max(own + sum(called), facts.cumulative_stack or 0)


class _Counted:
    """Sums over the instructions of a kernel."""

    def __init__(self) -> None:
        self._pipes: dict[str, float] = defaultdict(float)
        self._stalls: dict[str, float] = defaultdict(float)
        self._lines = self._sectors = self._varying = 0.0
        self._stored_lines = self._stored_sectors = 0.0
        self._shared = self._cached = self._again = self._streamed = 0.0
        self._instructions = self._in_loops = 0

    def work(self, frame: int, code: int | None) -> Work:
        """All of it, of a kernel with a frame and machine code of some bytes."""
        share = self._in_loops / self._instructions if self._instructions else 0.0
        return Work(
            pipes=tuple(self._pipes[pipe] for pipe in PIPES),
            stalls=tuple(self._stalls[stall] for stall in STALLS),
            local_lines=self._lines,
            local_sectors=self._sectors,
            stored_lines=self._stored_lines,
            stored_sectors=self._stored_sectors,
            varying_lines=self._varying,
            shared_wavefronts=self._shared,
            cached_lines=self._cached,
            repeated_sectors=self._again,
            streamed_sectors=self._streamed,
            frame=frame,
            looped_code=share * code if code is not None else None,
        )

    def function(
        self,
        dataflow: Dataflow,
        divergence: Divergence,
        often: float,
        in_registers: Mapping[int, Selection],
        rare: frozenset[int | None],
    ) -> None:
        """Count a function's instructions.

        Args:
            dataflow: of the function.
            divergence: of the function.
            often: how often it is called.
            in_registers: promoted local accesses by their lines.
            rare: lines of blocks that hardly any argument leads to.
        """
        instructions, blocks = dataflow.body.instructions, dataflow.flow.blocks
        reached, fusions = dataflow.flow.dominators, Fusions(dataflow)
        for number, block in enumerate(blocks):
            if number not in reached or block.start == block.end:
                continue
            weight = often * dataflow.weight(block.start)
            if any(one.line in rare for one in instructions[block.start : block.end]):
                weight *= _RARE
            self._instructions += block.end - block.start
            self._in_loops += (block.end - block.start) * (weight > 1)
            fused = fusions.in_block(block)
            for index in range(block.start, block.end):
                one = instructions[index]
                if is_local_access(one.opcode):
                    # What is not promoted is counted by its machine instructions.
                    chosen = in_registers.get(one.line, Selection())
                    self._pipes["integer"] += weight * chosen.comparisons
                    self._pipes["none"] += weight * chosen.moves
                    continue
                if index not in fused:
                    for pipe, slots in executed(one):
                        self._pipes[pipe] += weight * slots
                if fusions.is_copy(index):
                    self._pipes["none"] += weight
                if GENERIC in one.isa.spaces or one.operation == "shfl":
                    lanes = _LANES * divergence.active(index)
                    self._memory(dataflow, index, one, weight, often, lanes)
            if divergence.branches(block):
                self._pipes["none"] += weight * _DIVERGED_SLOTS
                self._stalls["arithmetic"] += weight * _DIVERGED_WAIT
            rows = instructions[block.start : block.end]
            for stall, times in longest_chain(rows, in_registers).items():
                self._stalls[stall] += weight * times

    def _memory(
        self,
        dataflow: Dataflow,
        index: int,
        one: Instruction,
        weight: float,
        often: float,
        lanes: float,
    ) -> None:
        """A load or store that is not of local memory, as far as its opcode says."""
        parts = {part.partition("::")[0] for part in one.modifiers[1:]}
        lines = max(1.0, width(one) / _WORD)
        if "shared" in parts or one.operation == "shfl":
            self._shared += weight * lines
            return
        address = one.address
        base = address.base if address is not None else None
        uniformity = (
            dataflow.uniformity(base, index)
            if base is not None and base.startswith("%")
            else "uniform"
        )
        if uniformity == "uniform":
            self._cached += weight if not parts & {"const", "param"} else 0.0
        elif parts & {"const", "param"}:
            # The constant cache gives one word at a time.
            self._cached += weight * lanes
        elif dataflow.is_of_module(index):
            # A table, which stays in the cache.
            self._cached += weight * lines * (1 if uniformity == "lane-varying" else 2)
        elif uniformity == "data-dependent" and (room := _table(dataflow, index, one)):
            self._cached += weight * _chosen(room, lanes)
        else:
            sectors = max(1.0, width(one) * _LANES / _SECTOR)
            if uniformity == "data-dependent":
                # Of rows that data chooses and columns by thread, neighbours share some.
                is_row = base is not None and _moves_with_threads(dataflow, base, index)
                sectors = math.sqrt(sectors * lanes) if is_row and sectors < lanes else lanes
            once = min(weight, often * _addresses(dataflow, base, index))
            self._streamed += once * sectors
            self._again += (weight - once) * sectors

    def local(
        self,
        accesses: Iterable[LocalAccess],
        weights: Mapping[int, float],
        active: Mapping[int, float],
        frame: int,
        objects: Sequence[LocalObject],
    ) -> None:
        """Count local accesses, each PTX access once however often ptxas has copied it.

        Args:
            accesses: of the kernel.
            weights: how often what is on a PTX line runs.
            active: the part of a warp's lanes that execute it together.
            frame: bytes among which those choose whose address differs between lanes, and whose
                object is not known.
            objects: of the kernel.
        """
        by_line: dict[tuple[int | None, bool, bool], list[LocalAccess]] = defaultdict(list)
        for access in accesses:
            spilled = access.cause in ("register-spill", "callee-save", "unattributed")
            by_line[access.ptx_line, access.is_store, spilled].append(access)
        reloads: dict[float, int] = defaultdict(int)
        for (line, is_store, spilled), group in by_line.items():
            weight = weights.get(line or 0, 1.0)
            if group[0].cause == "math-slow-path":
                weight *= _RARE
            copies = 1.0 if spilled or line is None else 1.0 / len(group)
            lanes = _LANES * active.get(line or 0, 1.0)
            alike = Counter((one.touched, one.uniformity, one.requests) for one in group)
            for (touched, uniformity, requests), number in alike.items():
                often = weight * copies * number
                self._pipes["memory"] += often
                size = sum(objects[one].size for one in touched) or frame
                rows, sectors = _touched(max(1, size // _WORD), uniformity, lanes)
                self._lines += often * requests * rows
                self._sectors += often * requests * sectors
                if is_store:
                    self._stored_lines += often * requests * rows
                    self._stored_sectors += often * requests * sectors
                if uniformity != "uniform":
                    self._varying += often * requests * rows
            if spilled and not is_store:
                reloads[weight] += len(group)
        for weight, count in reloads.items():
            self._stalls["local"] += weight * -(-count // _RELOADS)


def _touched(words: int, uniformity: Uniformity, lanes: float) -> tuple[float, float]:
    """Lines and sectors that a request of a warp touches, of an object of some 32-bit words.

    A word of all lanes is a line, of eight neighbouring ones a sector.
    """
    if uniformity == "uniform":
        return 1.0, min(lanes, _LINE / _SECTOR)
    if uniformity == "lane-varying":
        return min(lanes, words), min(lanes, words * _LINE / _SECTOR)
    # Lanes choose at random: how many words of the object are chosen at least once.
    together = _SECTOR // _WORD
    return _chosen(words, lanes), lanes / together * _chosen(words, together)


def _chosen(words: int, lanes: float) -> float:
    return float(words * (1 - (1 - 1 / words) ** lanes))


def _table(dataflow: Dataflow, index: int, one: Instruction) -> int | None:
    """Lines of the memory that all threads read with an instruction; None if it is not small."""
    number = dataflow.addresses(index)
    size = number * width(one) if number is not None else math.inf
    return max(1, math.ceil(size / _LINE)) if size <= _TABLE else None


def _moves_with_threads(dataflow: Dataflow, register: str, index: int) -> bool:
    """Whether the number of the thread is in an address."""
    return any(leaf.kind == "thread-id" for leaf in dataflow.leaves(register, index))


def _addresses(dataflow: Dataflow, register: str | None, index: int) -> float:
    """How many addresses a lane reads where an instruction is: those of the loops that move it."""
    if register is None:
        return 1.0
    moving = {leaf.header for leaf in dataflow.leaves(register, index)}
    return dataflow.trips.weight(index, moving)
