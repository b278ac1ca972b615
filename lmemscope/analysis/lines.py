"""Source lines of machine code and of PTX, as a reader knows them, for one unit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from lmemscope.analysis.origin import Origin, Origins, access_of, on_line_of
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.components import reached
from lmemscope.formats.cubin import Cubin, CubinFunction
from lmemscope.formats.demangle import original_name
from lmemscope.formats.line_table import line_at
from lmemscope.formats.ptx_body import Instruction
from lmemscope.formats.sites import Site
from lmemscope.model import DisplayPaths, InlineFrame, SourceLocation, calling_line, reader_line

Chain = tuple[InlineFrame, ...]


class Lines:
    """Inline chains of one unit, with file names as a reader knows them; each made once.

    Args:
        paths: file names as a reader knows them.
        cubin: the machine code, for its line table.
        flow: analyses of the PTX; None without PTX.
        origins: where each machine instruction comes from.
    """

    def __init__(
        self, paths: DisplayPaths, cubin: Cubin, flow: ModuleFlow | None, origins: Origins
    ) -> None:
        self._paths, self._cubin, self._flow, self._origins = paths, cubin, flow, origins
        self._callers: dict[tuple[str, str], Chain | None] = {}
        self._machine_callers: dict[tuple[str, str], Chain | None] = {}
        self._files: dict[str, str] = {}
        self._of_sites: dict[tuple[str, str, int], Chain] = {}
        # Who keeps a chain keeps its identity.
        self._shown: dict[int, tuple[Chain, Chain]] = {}

    def definition(self, function: CubinFunction) -> SourceLocation | None:
        """Where a kernel is defined, as far as line information tells."""
        found = self._defined_in_ptx(function.name)
        if found is not None:
            return found
        # PTX text kept inside a cubin can be without its ``.loc`` lines.
        table = self._cubin.source_lines.get(function.section)
        return self._paths.shown(table[0].chain[-1].location) if table else None

    def home(self, kernel: str) -> str | None:
        """The file that defines a kernel, or None where nothing tells."""
        found = self._defined_in_ptx(kernel)
        if found is None and kernel in self._cubin.records:
            found = self.definition(self._cubin.function(kernel))
        return found.file if found is not None else None

    def has_sites_of(self, kernel: CubinFunction) -> bool:
        """Whether anything tells a kernel's lines."""
        return self._flow is not None or kernel.section in self._cubin.source_lines

    def of_site(self, kernel: CubinFunction, body: CubinFunction, site: Site) -> Chain:
        """The chain of a machine instruction; empty where there is none.

        A function without lines of its own, such as the slow path of a mathematical function, is
        not blamed on whatever line the table ends with before it: what calls it says where it is.
        Nor is an access that PTX gives no line, such as the filling of an array with zeros, blamed
        on its neighbour, as ptxas does.

        Args:
            kernel: whose code section holds the instruction.
            body: the function in that section that it belongs to.
            site: the instruction.
        """
        if not self.has_sites_of(kernel):
            return ()
        key = (kernel.section, body.name, site.pc)
        if key not in self._of_sites:
            self._of_sites[key] = self._find_site(kernel, body, site)
        return self._of_sites[key]

    def _find_site(self, kernel: CubinFunction, body: CubinFunction, site: Site) -> Chain:
        called = self.of_calls(kernel, body) if body is not kernel else None
        if called is not None:
            return called
        given = self._without_line(kernel, site)
        if given is not None:
            return given
        origin = self._origins.of(kernel, site)
        taken = self._of_parameter(origin)
        if taken is not None:
            return taken
        entry = line_at(self._cubin.source_lines.get(kernel.section, []), site.pc)
        if entry is None:
            return ()
        return self._with_callers(self.shown_chain(entry.chain), origin)

    def _without_line(self, kernel: CubinFunction, site: Site) -> Chain | None:
        """What is around an access of the program's own that has no line; None where it has."""
        found = access_of(self._flow, self._origins.of(kernel, site))
        if found is None or found[1].loc is None or found[1].loc.line > 0:
            return None
        return self.of_instruction(found[1])[1:]

    def _of_parameter(self, origin: Origin) -> Chain | None:
        """Where a function begins, of what takes a parameter off the stack; None of anything else.

        Compilers give that the line of whatever statement comes before it.
        """
        found = access_of(self._flow, origin) if origin.kind == "argument" else None
        if found is None:
            return None
        dataflow, taking = found
        own = {name for name, _, _ in dataflow.function.parameters}
        if taking.isa.access != "load" or taking.address is None or taking.address.base not in own:
            return None
        return self.of_instruction(dataflow.body.instructions[0]) or None

    def of_instruction(self, instruction: Instruction) -> Chain:
        """The chain of a PTX instruction; empty without line information."""
        flow = self._flow
        if flow is None:
            return ()
        if instruction.loc is None and not self._has_locs:
            return self._by_ptx_line.get(instruction.line, ())
        return self.shown_chain(flow.ptx.chain(instruction))

    @cached_property
    def _has_locs(self) -> bool:
        """Whether the PTX says its source lines: the text that a cubin carries does not."""
        functions = self._flow.ptx.functions if self._flow is not None else ()
        return any(function.first_loc is not None for function in functions)

    @cached_property
    def _by_ptx_line(self) -> dict[int, Chain]:
        """Source lines of PTX lines, as the first machine instruction of each has them."""
        found: dict[int, Chain] = {}
        for section, table in self._cubin.ptx_lines.items():
            source = self._cubin.source_lines.get(section, [])
            for entry in table:
                there = line_at(source, entry.pc) if entry.line not in found else None
                if there is not None:
                    found[entry.line] = self.shown_chain(there.chain)
        return found

    def _with_callers(self, chain: Chain, origin: Origin) -> Chain:
        """A chain of machine code as PTX has it, where ptxas mistook what is around its line.

        ptxas begins a row where the number of the line changes, and only there: in another file, or
        where a function is inlined once more, the same number continues the row before it. It may
        also leave out calls behind a line number 0, or give them the file of what is called.
        """
        for dataflow, index in on_line_of(self._flow, origin):
            told = self.of_instruction(dataflow.body.instructions[index])
            if told and told[0].location.line == chain[0].location.line:
                return told
        return chain

    def of_callers(self, kernel: str, function: str) -> Chain | None:
        """The chain of a call of a function without lines of its own; None for other functions.

        Args:
            kernel: mangled name of the kernel that reaches the function.
            function: mangled name; of several calls, the one in the deepest loop is meant.
        """
        key = (kernel, function)
        if key not in self._callers:
            self._callers[key] = self._find_callers(kernel, function)
        return self._callers[key]

    def _find_callers(self, kernel: str, function: str) -> Chain | None:
        if not self._is_without_lines(function):
            return None
        calls = list(self._calls(function, kernel))
        return min(calls, key=lambda one: one[0])[1] if calls else ()

    def calling(self, kernel: str, function: str) -> tuple[SourceLocation, ...]:
        """Lines below a kernel that call a function without lines of its own, sorted.

        Of the function itself, compiled for others to call, the lines of the whole module.
        """
        if not self._is_without_lines(function):
            return ()
        calls = self._calls(function, None if kernel == function else kernel)
        lines = {calling_line(chain) for _, chain in calls}
        return tuple(sorted(line for line in lines if line is not None))

    def _calls(self, function: str, kernel: str | None) -> Iterator[tuple[int, Chain]]:
        """Calls that lead to a function, by way of such without lines alone: how many loops are
        around each, negated, and its chain."""
        flow = self._flow
        assert flow is not None

        def callers(name: str) -> list[str]:
            return [one for one, _ in flow.calls_of(name, kernel) if self._is_without_lines(one)]

        leading = dict.fromkeys(reached([function], callers))
        for name in leading:
            for caller, call in flow.calls_of(name, kernel):
                dataflow = flow.dataflow(caller) if caller not in leading else None
                if dataflow is not None:
                    chain = self.of_instruction(dataflow.body.instructions[call.index])
                    yield -dataflow.flow.depth(call.index), chain

    def _is_without_lines(self, function: str) -> bool:
        found = self._flow.ptx.function(function) if self._flow is not None else None
        return found is not None and found.first_loc is None and self._has_locs

    def of_calls(self, kernel: CubinFunction, body: CubinFunction) -> Chain | None:
        """The chain of a call of a function without lines of its own; None where it has some.

        Args:
            kernel: whose code section holds the function.
            body: the function.
        """
        called = self.of_callers(kernel.name, body.name)
        return called if called is not None else self._of_machine_callers(kernel, body)

    def _of_machine_callers(self, kernel: CubinFunction, body: CubinFunction) -> Chain | None:
        """The chain of a machine call of a function that ptxas adds itself.

        None for other ones, and where no call is found.

        Division and roots have such ones; PTX knows nothing of them, and the line table ends with
        whatever code lies before. Of several calls, the one in the deepest loop is meant.
        """
        key = (kernel.name, body.name)
        if self._is_in_ptx(body):
            return None
        if key not in self._machine_callers:
            self._machine_callers[key] = ()  # A function that calls itself says nothing.
            found = [
                (-self._depth(kernel, pc), pc, self._of_machine_call(kernel, pc))
                for pc in self._cubin.calls(kernel).get(body.start, ())
            ]
            said = (one for one in found if one[2])
            self._machine_callers[key] = min(said, default=(0, 0, None))[2]
        return self._machine_callers[key]

    def _of_machine_call(self, kernel: CubinFunction, pc: int) -> Chain:
        around = kernel.body_at(pc)
        called = self.of_calls(kernel, around) if around is not kernel else None
        if called is not None:
            return called
        entry = line_at(self._cubin.source_lines.get(kernel.section, []), pc)
        return self.shown_chain(entry.chain) if entry is not None else ()

    def _is_in_ptx(self, body: CubinFunction) -> bool:
        flow = self._flow
        return flow is None or flow.ptx.function(original_name(body.name)) is not None

    def _depth(self, kernel: CubinFunction, pc: int) -> int:
        """Loops around a machine instruction, as the PTX that it is made of stands in them."""
        flow = self._flow
        entry = line_at(self._cubin.ptx_lines.get(kernel.section, []), pc)
        function = flow.ptx.function_at(entry.line) if flow is not None and entry else None
        dataflow = flow.dataflow(function.name) if flow is not None and function else None
        if dataflow is None or entry is None:
            return 0
        indices = dataflow.by_line.get(entry.line, ())
        return max((dataflow.flow.depth(index) for index in indices), default=0)

    def reader_line(self, chain: Chain, kernel: str) -> SourceLocation | None:
        """The line of a chain that a reader of a kernel is sent to."""
        return reader_line(chain, self.home(kernel))

    def shown(self, place: SourceLocation) -> SourceLocation:
        """A location with its path as a reader knows it."""
        file = self._files.get(place.file)
        if file is None:
            file = self._files[place.file] = self._paths.shown(place).file
        return SourceLocation(file, place.line)

    def shown_chain(self, chain: Chain) -> Chain:
        """A chain with its paths as a reader knows them."""
        if id(chain) not in self._shown:
            shown = tuple(InlineFrame.at(self.shown(one.location), one.function) for one in chain)
            self._shown[id(chain)] = (chain, shown)
        return self._shown[id(chain)][1]

    def _defined_in_ptx(self, kernel: str) -> SourceLocation | None:
        flow = self._flow
        function = flow.ptx.function(kernel) if flow is not None else None
        if flow is None or function is None or function.first_loc is None:
            return None
        file, line = function.first_loc
        return self.shown(SourceLocation(flow.ptx.files.get(file, ""), line))
