"""What ``#include MACRO`` may name: macros, followed through one another.

Those without parameters stand for a header or for another macro, those with one for a header whose
name holds it, as CUTLASS's ``CUDA_STD_HEADER(cassert)``.

Every definition counts, wherever it stands and whether it is taken back: which of them holds where
only a preprocessor knows. So a use reaches meanings as they become known, in any order, and each
pair of the two is looked at once.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass, field

from lmemscope.files import UnreadableFileError

MOST = 100_000
"""Steps from uses to meanings in one compilation. Projects choose among a handful of headers, and
Boost's iterations among hundreds."""


@dataclass(frozen=True, slots=True)
class HeaderPattern:
    """A header in angle brackets, named by a macro's one argument.

    Attributes:
        parts: of its name, between which the argument stands.
    """

    parts: tuple[str, ...]


Meaning = tuple[str, bool] | bytes | HeaderPattern | None
"""What a macro stands for: a header, and whether that is quoted; another macro; a pattern; or None
for anything else."""

Header = tuple[str, bool, bool]
"""A header's name, whether it is quoted, and whether each file of that name may be meant."""


@dataclass(frozen=True, slots=True)
class Use:
    """An include that names a macro.

    Attributes:
        file: with the include.
        macro: that it names, with a parenthesis behind it where it is given an argument.
        every: whether each file of a header's name may be meant.
        argument: of the macro.
    """

    file: str
    macro: bytes
    every: bool
    argument: str = ""


@dataclass(slots=True)
class HeaderMacros:
    """Uses and definitions, as they are met; `new` gives what has come of them."""

    _known: dict[bytes, dict[Meaning, None]] = field(default_factory=dict)
    _reached: dict[bytes, dict[Use, None]] = field(default_factory=dict)
    _pending: list[tuple[Use, Meaning]] = field(default_factory=list)
    _steps: int = 0
    _is_open: bool = False

    def define(self, macro: bytes, meaning: Meaning) -> None:
        """Learn what a macro may stand for."""
        meanings = self._known.setdefault(macro, {})
        if meaning not in meanings:
            meanings[meaning] = None
            self._pending += [(use, meaning) for use in self._reached.get(macro, ())]

    def use(self, use: Use) -> None:
        """Learn of an include."""
        self._pending.append((use, use.macro))

    @property
    def is_open(self) -> bool:
        """Whether a use has reached a macro without a definition, or one that is not followed."""
        return self._is_open or any(not self._known.get(macro) for macro in self._reached)

    def new(self) -> Iterator[tuple[str, Header]]:
        """Files, and headers that includes in them may name; those that were not given before.

        Raises:
            UnreadableFileError: they are too many to follow.
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
