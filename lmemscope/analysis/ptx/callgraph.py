"""A PTX module as a whole: data flow of its functions on demand, and who calls whom."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial

from lmemscope.analysis.ptx.blocks import UNKNOWN, Blocks, Extents
from lmemscope.analysis.ptx.flow import mentions_local_access
from lmemscope.analysis.ptx.graph import Call
from lmemscope.analysis.ptx.leaves import worst
from lmemscope.analysis.ptx.library import Library
from lmemscope.analysis.ptx.objects import FunctionObjects
from lmemscope.analysis.ptx.points_to import Pointee, Told
from lmemscope.analysis.ptx.slicing import Dataflow
from lmemscope.formats.ptx import PtxFunction, PtxModule
from lmemscope.formats.ptx_signatures import Signature, prototypes_of, signature_of
from lmemscope.model import CallFacts, Uniformity

_CALL = re.compile(rb"\bcall(?:\.uni)?\s+(?:\([^)]*\)\s*,\s*)?([%$\w]+)")
_RUNTIME = frozenset({"vprintf", "malloc", "free", "__assertfail"})
"""Functions of the driver, which ptxas knows: CUDA C++ Programming Guide, PTX interoperability."""
_RUNTIME_PREFIXES = ("__cudaCDP2", "cuda", "__nv_aligned_device_malloc")
"""The device runtime, libcudadevrt: every toolkit links the same."""

ObjectKey = tuple[str, int]
"""A stack object: mangled name of the PTX function that owns it, offset in its depot."""


class ModuleFlow:
    """Analyses of a module's functions, each made once."""

    def __init__(self, ptx: PtxModule) -> None:
        self.ptx = ptx
        self._library = Library(ptx)
        self._shapes: dict[str, frozenset[Extents]] = {}
        self.forget()

    def forget(self) -> None:
        """Give up all that was made, for instance where an error left some of it half made."""
        self._dataflows: dict[str, Dataflow] = {}
        self._alone: dict[str, Dataflow] = {}
        self._below: dict[str, frozenset[str]] = {}
        self._may_access: dict[str, bool] = {}
        self._objects: dict[str, FunctionObjects] = {}
        self._told: dict[str, dict[int, Told]] = {}
        self._calls: dict[str, CallFacts] = {}
        self._levels: dict[tuple[str, str], Uniformity] = {}
        self._passed: dict[tuple[str, str], frozenset[str]] = {}
        self._prototypes_of: dict[str, dict[str, Signature | None]] = {}

    def dataflow(self, name: str) -> Dataflow | None:
        """Data flow of a function, or None where it is not defined here."""
        if name not in self._dataflows:
            function = self.ptx.function(name)
            if function is None:
                return None
            self._dataflows[name] = Dataflow(
                function,
                partial(self._given, name),
                self._library,
                self._told.get(name),
                self._blocks(function) if b"%tid." in function.text else UNKNOWN,
            )
        return self._dataflows[name]

    def tell(self, name: str, told: Mapping[int, Told]) -> bool:
        """Look at a function again, with what names tell of its accesses that PTX does not.

        Args:
            name: of the function.
            told: of its loads and stores, as `Dataflow` takes it.

        Returns:
            whether it was not known before: all that was made of the function is then old.
        """
        if not told or self._told.get(name) == told:
            return False
        self._told[name] = dict(told)
        # What it calls was perhaps looked at before, with what it gave then.
        for old in (name, *self.called_below(name)):
            self._dataflows.pop(old, None)
            self._objects.pop(old, None)
        self._alone.pop(name, None)
        self._levels.clear()
        return True

    def shape(self, shapes: Mapping[str, frozenset[Extents]]) -> None:
        """Say which shapes the blocks of kernels have, by their names, where all are known."""
        self._shapes |= shapes
        if shapes:
            self.forget()

    def _blocks(self, function: PtxFunction) -> Blocks:
        """The blocks of all kernels that reach a function."""
        kernels = [function]
        if function.kind != "entry":
            entries = (one for one in self.ptx.functions if one.kind == "entry")
            kernels = [one for one in entries if function.name in self.reached(one.name)]
        said = [self._shapes.get(one.name) or one.required_block for one in kernels]
        known = [one for one in said if one]
        return Blocks(frozenset().union(*known), bool(known) and len(known) == len(said))

    def may_access_local(self, name: str) -> bool:
        """Whether a function has any ``ld`` or ``st`` that may be one of local memory.

        Most have not, and then need not be parsed.
        """
        if name not in self._may_access:
            function = self.ptx.function(name)
            self._may_access[name] = function is not None and mentions_local_access(function.text)
        return self._may_access[name]

    def _given(self, name: str, parameter: str) -> Uniformity:
        """How uniform what a function's callers give for a parameter is.

        Unknown where not all of them are known: its address is taken, or other compilations may
        call it. What it is given on a way from itself is looked at as if nothing were known of the
        parameters on that way, which would be asked of themselves.
        """
        key = (name, parameter)
        if key not in self._levels:
            self._levels[key] = self._find_given(name, parameter)
        return self._levels[key]

    def _find_given(self, name: str, parameter: str) -> Uniformity:
        target = self.ptx.function(name)
        if target is None or target.is_visible or self.ptx.takes_address(name):
            return "unknown"
        position = [one for one, _, _ in target.parameters].index(parameter)
        calls = list(self.calls_of(name))
        below = self.called_below(name)
        levels: list[Uniformity] = []
        for caller, call in calls:
            is_own = name in below and caller in below
            dataflow = self._by_itself(caller) if is_own else self.dataflow(caller)
            assert dataflow is not None
            for register in call.arguments[position] if position < len(call.arguments) else ():
                levels.append(dataflow.uniformity(register, call.index))
        return worst(levels) if calls else "unknown"

    def _by_itself(self, name: str) -> Dataflow | None:
        """Data flow of a function of whose callers nothing is known."""
        function = self.ptx.function(name)
        if function is not None and name not in self._alone:
            told = self._told.get(name)
            self._alone[name] = Dataflow(function, None, self._library, told)
        return self._alone.get(name)

    def objects(self, name: str) -> FunctionObjects | None:
        """Stack objects of a function, or None where it is not defined here."""
        if name not in self._objects:
            dataflow = self.dataflow(name)
            if dataflow is None:
                return None
            self._objects[name] = FunctionObjects(dataflow)
        return self._objects[name]

    @cached_property
    def callees(self) -> dict[str, tuple[str, ...]]:
        """Names called by each function; a register is an indirect call."""
        return {
            function.name: tuple(
                dict.fromkeys(m.group(1).decode() for m in _CALL.finditer(function.text))
            )
            for function in self.ptx.functions
        }

    def reached(self, name: str) -> tuple[str, ...]:
        """Functions defined here that a function can reach by direct calls, itself included."""
        seen: dict[str, None] = {}
        work = [name]
        while work:
            current = work.pop(0)
            if current in seen or current not in self.callees:
                continue
            seen[current] = None
            work += self.callees[current]
        return tuple(seen)

    def called_below(self, name: str) -> frozenset[str]:
        """Functions defined here that calls of a function lead to; itself where it is recursive."""
        if name not in self._below:
            called = self.callees.get(name, ())
            self._below[name] = frozenset(one for c in called for one in self.reached(c))
        return self._below[name]

    def calls_of(self, function: str, kernel: str | None = None) -> Iterator[tuple[str, Call]]:
        """Direct calls of a function, each with the name of the function that makes it.

        Args:
            function: mangled name.
            kernel: only calls that it can reach; None for all of the module.
        """
        for caller in self.callees if kernel is None else self.reached(kernel):
            dataflow = self.dataflow(caller) if function in self.callees[caller] else None
            for call in dataflow.flow.calls if dataflow is not None else ():
                if call.callee == function:
                    yield caller, call

    def calls(self, name: str) -> CallFacts:
        """The call graph below a kernel."""
        if name not in self._calls:
            self._calls[name] = self._find_calls(name)
        return self._calls[name]

    def _find_calls(self, name: str) -> CallFacts:
        reached = self.reached(name)
        recursive = tuple(sorted(f for f in reached if f in self.called_below(f)))
        indirect = any(map(self._calls_through, reached))
        external = {
            callee
            for function in reached
            for callee in self.callees[function]
            if callee not in self.callees and not callee.startswith(("%", *_RUNTIME_PREFIXES))
        }
        pointed = self._find_pointed(name, reached) if indirect else ()
        return CallFacts(
            tuple(sorted(f for f in reached if f != name)),
            recursive,
            indirect,
            external=tuple(sorted(external - _RUNTIME)),
            pointed=pointed,
            leads_out=any(map(self._leads_out, {*reached, *pointed})),
            cycles=self._cycles(recursive),
        )

    def _cycles(self, recursive: Iterable[str]) -> tuple[tuple[str, ...], ...]:
        """The shortest way from each recursive function back to itself, each once."""
        found: dict[frozenset[str], tuple[str, ...]] = {}
        for function in recursive:
            ways: list[tuple[str, ...]] = [(function,)]
            seen = {function}
            while ways and function not in self.callees.get(ways[0][-1], ()):
                way = ways.pop(0)
                called = sorted(set(self.callees.get(way[-1], ())) - seen)
                seen |= {*called}
                ways += [(*way, one) for one in called]
            if ways:
                found.setdefault(frozenset(ways[0]), ways[0])
        return tuple(found.values())

    def _calls_through(self, function: str) -> bool:
        """Whether a function makes a call through a pointer."""
        return any(callee.startswith("%") for callee in self.callees[function])

    def _leads_out(self, caller: str) -> bool:
        """Whether a function's calls through pointers may lead to other translation units."""
        wanted = self._wanted(caller)
        known = set(self._addressed.values())
        if any(one not in known if one is not None else not known for one in wanted):
            return True
        return bool(wanted) and self.ptx.reads_external_pointer(caller)

    def _find_pointed(self, kernel: str, reached: Iterable[str]) -> tuple[str, ...]:
        """Functions that only calls through pointers can reach, and what these call."""
        run = set(reached)
        while more := {
            name
            for start in self._pointed_by(run) - run
            for name in self.reached(start)
            if name not in run
        }:
            run |= more
        return tuple(sorted(run - {kernel, *reached}))

    def _pointed_by(self, callers: Iterable[str]) -> set[str]:
        """Functions whose address is taken, and that a call through a pointer in others fits."""
        wanted: set[Signature | None] = set()
        for caller in callers:
            wanted |= self._wanted(caller)
        return {
            name
            for name, signature in self._addressed.items()
            if None in wanted or signature in wanted
        }

    def _wanted(self, caller: str) -> frozenset[Signature | None]:
        """What a function's calls through pointers hand over; None for one that does not say."""
        if not self._calls_through(caller):
            return frozenset()
        function = self.ptx.function(caller)
        assert function is not None
        prototypes = list(self._prototypes(caller).values())
        calls = sum(m.group(1).startswith(b"%") for m in _CALL.finditer(function.text))
        return frozenset([*prototypes, *([None] if calls > len(prototypes) else [])])

    @cached_property
    def _addressed(self) -> dict[str, Signature]:
        """Functions whose address is in a register or a variable."""
        return {
            function.name: signature_of(function)
            for function in self.ptx.functions
            if function.kind == "function" and self.ptx.takes_address(function.name)
        }

    def fits(self, caller: str, call: Call, callee: str) -> bool:
        """Whether a call through a pointer can be one of a function.

        Args:
            caller: that makes the call.
            call: in it.
            callee: mangled name of a function.
        """
        target = self.ptx.function(callee)
        if call.callee is not None or target is None:
            return False
        wanted = self._prototypes(caller).get(call.prototype or "")
        return wanted is None or wanted == self._addressed.get(callee)

    def _prototypes(self, caller: str) -> dict[str, Signature | None]:
        if caller not in self._prototypes_of:
            function = self.ptx.function(caller)
            self._prototypes_of[caller] = {} if function is None else prototypes_of(function)
        return self._prototypes_of[caller]

    def pointed_at(self, kernel: str, function: str, parameter: str) -> frozenset[ObjectKey]:
        """Objects (function, offset) of callers that a pointer parameter may point into."""
        found: set[ObjectKey] = set()
        seen: set[tuple[str, str]] = set()
        work = [(function, parameter)]
        while work:
            name, wanted = work.pop()
            if (name, wanted) in seen:
                continue
            seen.add((name, wanted))
            target = self.ptx.function(name)
            if target is None:
                continue
            position = [p for p, _, _ in target.parameters].index(wanted)
            for caller, call in self.calls_of(name, kernel):
                objects = self.objects(caller)
                assert objects is not None
                for pointee in objects.argument_pointees(call, position):
                    if pointee.kind == "depot":
                        found.add((caller, pointee.offset))
                    elif pointee.kind == "parameter" and pointee.name is not None:
                        work.append((caller, pointee.name))
        return frozenset(found)

    def is_local(self, kernel: str, function: str, index: int) -> bool:
        """Whether an instruction's address is a local one, however a kernel reaches it."""
        objects = self.objects(function)
        access = objects.access_at.get(index) if objects is not None else None
        if objects is None or access is None:
            return False
        if objects.is_local(index):
            return True
        if all(pointee.kind != "parameter" for pointee in access.pointees):
            return False
        return objects.is_local(index, self._local_parameters(kernel, function))

    def _local_parameters(self, kernel: str, function: str) -> frozenset[str]:
        """Parameters of a function through which all calls of a kernel's pass local addresses."""
        key = (kernel, function)
        if key not in self._passed:
            self._passed[key] = frozenset()  # A function that calls itself proves nothing.
            self._passed[key] = self._find_local_parameters(kernel, function)
        return self._passed[key]

    def _find_local_parameters(self, kernel: str, function: str) -> frozenset[str]:
        target = self.ptx.function(function)
        if target is None or target.kind == "entry" or self.calls(kernel).indirect:
            return frozenset()
        found = {name for name, _, _ in target.parameters}
        calls = list(self.calls_of(function, kernel))
        for caller, call in calls:
            objects = self.objects(caller)
            assert objects is not None
            own = self._local_parameters(kernel, caller)
            found = {
                name
                for (name, _, _), position in zip(
                    target.parameters, range(len(call.arguments)), strict=False
                )
                if name in found and objects.passes_local(call, position, own)
            }
        return frozenset(found) if calls else frozenset()

    def owners(
        self, kernel: str, function: str, pointees: frozenset[Pointee]
    ) -> frozenset[ObjectKey]:
        """Objects (function, offset) that pointees stand for, parameters followed to callers."""
        found: set[ObjectKey] = set()
        for pointee in pointees:
            if pointee.kind == "depot":
                found.add((function, pointee.offset))
            elif pointee.kind == "parameter" and pointee.name is not None:
                found |= self.pointed_at(kernel, function, pointee.name)
        return frozenset(found)
