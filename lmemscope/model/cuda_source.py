"""What a CUDA C++ source says about itself, before any compiler has seen it."""

from __future__ import annotations

from dataclasses import dataclass

from lmemscope.model.launches import WrittenLaunch
from lmemscope.model.request import KernelDirective


@dataclass(frozen=True, slots=True)
class KernelDefinition:
    """A ``__global__`` function as written.

    Attributes:
        name: qualified.
        line, end_line: from ``__global__`` to the closing brace of its body; of a declaration,
            its own line.
        is_template: whether it is a template.
        is_declaration: whether it has no body.
    """

    name: str
    line: int
    is_template: bool
    end_line: int = 0
    is_declaration: bool = False


@dataclass(frozen=True, slots=True)
class Directive:
    """A ``// lmemscope: WORD rest`` comment.

    Attributes:
        word, argument, line: what it says, and where.
        branch_end: line of the ``#else`` or ``#endif`` that ends the innermost branch it stands
            in that may or may not be compiled; 0 where it stands in none.
    """

    word: str
    argument: str
    line: int
    branch_end: int = 0


@dataclass(frozen=True, slots=True)
class HeaderSource:
    """A header that a source includes, and what it says about itself.

    Attributes:
        path: absolute.
        source: as of a file of its own; its own headers are those of the source.
    """

    path: str
    source: CudaSource


@dataclass(frozen=True, slots=True)
class CudaSource:
    """What the source says about itself.

    Attributes:
        kernels: definitions and declarations of ``__global__`` functions, in order.
        launches: name expressions of template kernels launched with literal arguments.
        directives: every ``// lmemscope:`` comment.
        includes: names in ``#include`` lines.
        has_host_code: it defines ``main`` or launches kernels with ``<<<``.
        headers: the user's headers that it includes, those with kernels or directives.
        functions: definitions of other functions, any of which a macro may make a kernel.
        asked: a macro that a condition here or in a header asks for and that NVRTC defines
            otherwise than nvcc, or what else of the text it reads otherwise; or None.
        device_launches: launches in functions that run on the device, in order.
        always_included: those of the includes that no condition may leave out.
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

    @property
    def template_kernels(self) -> tuple[KernelDefinition, ...]:
        """The kernels that yield no code until something instantiates them."""
        return tuple(kernel for kernel in self.kernels if kernel.is_template)

    @property
    def kernel_directives(self) -> tuple[KernelDirective, ...]:
        """All comments but ``instantiate``, each with the kernel that it is in or above.

        What nobody understands, or speaks of no kernel, is kept: the gate refuses it.
        """
        return tuple(
            self._of_kernel(directive)
            for directive in self.directives
            if directive.word != "instantiate"
        )

    def _of_kernel(self, directive: Directive) -> KernelDirective:
        word, argument, at = directive.word, directive.argument, directive.line
        every = (*self.kernels, *self.functions)
        inside = [k for k in every if k.line <= at <= k.end_line]
        below = sorted((k for k in every if k.line > at), key=lambda k: k.line)
        kernel = next(iter(inside or below), None)
        if kernel is None:
            return KernelDirective(word, argument, at, "")
        lines = (kernel.line, kernel.end_line)
        if not inside and 0 < directive.branch_end < kernel.line:
            return KernelDirective(word, argument, at, kernel.name, lines=lines, tie="branch")
        if kernel in self.functions:
            return KernelDirective(word, argument, at, kernel.name, lines=lines, tie="function")
        bodies = [k for k in self.kernels if k.name == kernel.name and not k.is_declaration]
        if kernel.is_declaration and bodies:
            kernel = bodies[0]
        return KernelDirective(
            word,
            argument,
            at,
            base_name(kernel.name),
            kernel.name,
            (kernel.line, kernel.end_line),
            len(bodies) + sum(f.name == base_name(kernel.name) for f in self.functions) > 1,
        )

    @property
    def asked_in_headers(self) -> tuple[tuple[str, str, int], ...]:
        """Name expressions of ``instantiate`` directives in headers: with path and line."""
        return tuple(
            (expression, header.path, directive.line)
            for header in self.headers
            for directive in header.source.directives
            if directive.word == "instantiate"
            for expression in split_expressions(directive.argument)
        )

    @property
    def instantiations(self) -> tuple[str, ...]:
        """Name expressions asked for by ``instantiate`` directives."""
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
