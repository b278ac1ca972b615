"""Facts read from the text of a CUDA C++ source, before compilation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from lmemscope.model.launches import WrittenLaunch
from lmemscope.model.request import Form, KernelDirective


class KernelDefinition(Struct, frozen=True):
    """A ``__global__`` function as written.

    Attributes:
        name: qualified.
        line, end_line: from ``__global__`` to the closing brace of the body; for a declaration, its
            own line.
        is_template: whether it is a template.
        is_declaration: whether it has no body.
        tokens: indices of the declaration's first token, of the token that opens the body, and of
            the last token.
        form: ``template``, ``specialization`` of a template, or ``plain``.
        parameters: the parameter types; None for a type that only a compiler can determine, and
            None for all if their number is unknown.
        enclosed: whether it is inside parentheses, such as a macro's arguments.
        head: the words of its declaration before the body.
        name_line: line of its name, which compilers report as the definition's line; 0 if a macro
            produces the name.
    """

    name: str
    line: int
    is_template: bool
    end_line: int = 0
    is_declaration: bool = False
    tokens: tuple[int, int, int] = (0, 0, 0)
    form: Form = "plain"
    parameters: tuple[str | None, ...] | None = None
    enclosed: bool = False
    head: tuple[str, ...] = ()
    name_line: int = 0

    def may_be(self, other: KernelDefinition) -> bool:
        """Whether both may declare the same function, or a template and its specialization."""
        plain = (self.form == "plain", other.form == "plain")
        return (
            self.name == other.name
            and plain[0] == plain[1]
            and may_agree(self.parameters, other.parameters)
        )


class Directive(Struct, frozen=True):
    """A ``// lmemscope: WORD rest`` comment.

    Attributes:
        word, argument, line: its keyword, its argument, and its line.
        branch_end: line of the ``#else`` or ``#endif`` that ends the innermost conditional branch
            around it; 0 outside any.
        position: number of tokens before it.
        barrier: the preprocessor line before the next token that may exclude it or include other
            text; empty if there is none.
        doubt: why it is unclear which compiled kernel it refers to; empty if it is clear.
        namesakes: other functions with its kernel's unqualified name in other files of the
            compilation, with their namespaces.
    """

    word: str
    argument: str
    line: int
    branch_end: int = 0
    position: int = 0
    barrier: str = ""
    doubt: str = ""
    namesakes: tuple[str, ...] = ()


class HeaderSource(Struct, frozen=True):
    """A header included by a source, and the facts read from its text.

    Attributes:
        path: absolute.
        source: as for a source file; headers that it includes are listed with the including source.
    """

    path: str
    source: CudaSource


class CudaSource(Struct, frozen=True):
    """Facts read from the text of a source.

    Attributes:
        kernels: definitions and declarations of ``__global__`` functions, in order.
        launches: name expressions of template kernels launched with literal arguments.
        directives: every ``// lmemscope:`` comment.
        includes: the names in ``#include`` lines.
        has_host_code: whether it defines ``main`` or launches kernels with ``<<<``.
        headers: the user's headers that it includes and that have kernels or directives.
        functions: definitions of other functions, which a macro may turn into kernels.
        asked: a macro tested here or in a header that NVRTC and nvcc define differently, or other
            text that they read differently; or None.
        device_launches: launches in device functions, in order.
        always_included: the includes that no condition can exclude.
        strings: lines of string literals that contain device code, which is not compiled here.
    """

    kernels: tuple[KernelDefinition, ...]
    launches: tuple[str, ...]
    directives: tuple[Directive, ...]
    includes: tuple[str, ...]
    has_host_code: bool
    headers: tuple[HeaderSource, ...] = ()
    functions: tuple[KernelDefinition, ...] = ()
    asked: str | None = None
    device_launches: tuple[WrittenLaunch, ...] = ()
    always_included: tuple[str, ...] = ()
    strings: tuple[int, ...] = ()

    @property
    def template_kernels(self) -> tuple[KernelDefinition, ...]:
        """The kernels that produce no code until they are instantiated."""
        return tuple(kernel for kernel in self.kernels if kernel.is_template)

    @property
    def kernel_directives(self) -> tuple[KernelDirective, ...]:
        """All comments except ``instantiate``, each with the kernel that it is in or above.

        Comments that are not understood or refer to no kernel are kept: the gate rejects them.
        """
        return tuple(
            self._of_kernel(directive)
            for directive in self.directives
            if directive.word != "instantiate"
        )

    def definition_of(self, directive: Directive) -> KernelDefinition | str:
        """The kernel or function that a comment is in or directly above, or why there is none.

        Decided by the text, not by lines that a compiler reports: ``#line`` may change those.
        """
        at = directive.position
        every = (*self.kernels, *self.functions)
        around = [one for one in every if one.tokens[0] <= at <= one.tokens[2]]
        if not around:
            return ""
        if len(around) > 1:
            names = ", ".join(dict.fromkeys(one.name for one in around))
            return f"it may stand above or in more than one kernel: {names}"
        meant = around[0]
        if meant.enclosed:
            return f"{meant.name} stands in the arguments of a macro"
        if directive.barrier and at <= meant.tokens[1]:
            return f"{directive.barrier} stands between it and {meant.name}"
        return meant

    def _of_kernel(self, directive: Directive) -> KernelDirective:
        word, argument, at = directive.word, directive.argument, directive.line
        meant = self.definition_of(directive)
        if isinstance(meant, str):
            below = self._below(directive)
            if below is None or not meant:
                return KernelDirective(word, argument, at, "")
            ends = directive.barrier.startswith("#e") and directive.branch_end > 0
            return KernelDirective(
                word,
                argument,
                at,
                base_name(below.name),
                below.name,
                (below.line, below.end_line),
                tie="branch" if ends else "kernel",
                doubt=meant,
            )
        is_function = meant in self.functions
        return KernelDirective(
            word,
            argument,
            at,
            base_name(meant.name),
            meant.name,
            (meant.line, meant.end_line),
            tie="function" if is_function else "kernel",
            doubt=directive.doubt or self._doubt(meant),
            form=meant.form,
            parameters=meant.parameters,
            namesakes=tuple(sorted({*directive.namesakes, *self._namesakes(meant)})),
        )

    def _below(self, directive: Directive) -> KernelDefinition | None:
        at, every = directive.position, (*self.kernels, *self.functions)
        below = (one for one in every if one.tokens[2] >= at)
        return min(below, key=lambda one: one.tokens[0], default=None)

    def _namesakes(self, meant: KernelDefinition) -> Iterator[str]:
        name = base_name(meant.name)
        for one in (*self.kernels, *self.functions):
            if one.name != meant.name and base_name(one.name) == name:
                yield one.name

    def _doubt(self, meant: KernelDefinition) -> str:
        """Why another definition in this file may be what was compiled under a kernel's name."""
        bodies = [one for one in (*self.kernels, *self.functions) if not one.is_declaration]
        same = [one for one in bodies if one is not meant and one.may_be(meant)]
        if len(same) > meant.is_declaration:
            return f"more than one definition of {meant.name} may be meant"
        return ""

    @property
    def asked_in_headers(self) -> tuple[tuple[str, str, int], ...]:
        """Name expressions of ``instantiate`` directives in headers, with path and line."""
        return tuple(
            (expression, header.path, directive.line)
            for header in self.headers
            for directive in header.source.directives
            if directive.word == "instantiate"
            for expression in split_expressions(directive.argument)
        )

    @property
    def instantiations(self) -> tuple[str, ...]:
        """Name expressions of ``instantiate`` directives."""
        return tuple(
            expression
            for directive in self.directives
            if directive.word == "instantiate"
            for expression in split_expressions(directive.argument)
        )


def split_expressions(text: str) -> list[str]:
    """Split ``a<1, 2>, b<3>`` at the commas outside brackets."""
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        if char in "<([":
            depth += 1
        elif char in ">)]":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def base_name(expression: str) -> str:
    """The unqualified kernel name of a name expression: ``ns::rm<32>`` gives ``rm``."""
    return expression.partition("<")[0].strip().rpartition("::")[2].lstrip("&").strip()


def may_agree(some: Sequence[str | None] | None, others: Sequence[str | None] | None) -> bool:
    """Whether two parameter lists may belong to one function; None agrees with everything."""
    if some is None or others is None:
        return True
    return len(some) == len(others) and all(
        None in pair or pair[0] == pair[1] for pair in zip(some, others, strict=True)
    )
