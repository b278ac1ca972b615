"""Resolve ``#include MACRO``: follow macros to the headers they may name.

Macros without parameters stand for a header or another macro; those with one parameter, for a
header whose name contains it, as in CUTLASS's ``CUDA_STD_HEADER(cassert)``.

Every definition counts, wherever it is and even if it is undefined again: only a preprocessor knows
which one applies. A use therefore receives meanings as they become known, in any order, and each
pair of use and meaning is processed once.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass, field

from lmemscope.files import UnreadableFileError

MOST = 100_000
"""Maximum number of steps from uses to meanings in a compilation. Projects choose among a handful
of headers, and Boost's iterations among hundreds."""


@dataclass(frozen=True, slots=True)
class HeaderPattern:
    """A header in angle brackets, named through a macro's single argument.

    Attributes:
        parts: of its name, with the argument between them.
    """

    parts: tuple[str, ...]


Meaning = tuple[str, bool] | bytes | HeaderPattern | None
"""What a macro stands for: a header, and whether it is quoted; another macro; a pattern; or None
for anything else."""

Header = tuple[str, bool, bool]
"""A header's name, whether it is quoted, and whether every file of that name may be meant."""


@dataclass(frozen=True, slots=True)
class Use:
    """An include that names a macro.

    Attributes:
        file: that contains the include.
        macro: its name, followed by a parenthesis if it has an argument.
        every: whether every file with the header's name may be meant.
        argument: of the macro.
    """

    file: str
    macro: bytes
    every: bool
    argument: str = ""


@dataclass(slots=True)
class HeaderMacros:
    """Uses and definitions, in any order; `new` returns the headers found so far."""

    _known: dict[bytes, dict[Meaning, None]] = field(default_factory=dict)
    _reached: dict[bytes, dict[Use, None]] = field(default_factory=dict)
    _pending: list[tuple[Use, Meaning]] = field(default_factory=list)
    _steps: int = 0
    _is_open: bool = False

    def define(self, macro: bytes, meaning: Meaning) -> None:
        """Add a possible meaning of a macro."""
        meanings = self._known.setdefault(macro, {})
        if meaning not in meanings:
            meanings[meaning] = None
            self._pending += [(use, meaning) for use in self._reached.get(macro, ())]

    def use(self, use: Use) -> None:
        """Add an include."""
        self._pending.append((use, use.macro))

    @property
    def is_open(self) -> bool:
        """Whether a use reached a macro without a known definition, or one that is not followed."""
        return self._is_open or any(not self._known.get(macro) for macro in self._reached)

    def new(self) -> Iterator[tuple[str, Header]]:
        """Files, and headers that their includes may name, without those already returned.

        Raises:
            UnreadableFileError: there are too many to follow.
        """
        while self._pending:
            use, meaning = self._pending.pop()
            self._steps += 1
            if self._steps > MOST:
                spelled = use.macro.decode("utf-8", "replace")
                reason = f"its macros, {spelled} among them, stand for too many headers"
                raise UnreadableFileError(errno.EINVAL, reason, use.file)
            if isinstance(meaning, tuple):
                yield use.file, (*meaning, use.every)
                continue
            if isinstance(meaning, HeaderPattern):
                yield use.file, (use.argument.join(meaning.parts), False, use.every)
                continue
            if meaning is None:
                self._is_open = True
                continue
            reached = self._reached.setdefault(meaning, {})
            if use not in reached:
                reached[use] = None
                self._pending += [(use, one) for one in self._known.get(meaning, ())]
