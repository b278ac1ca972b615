"""The text of the user's source files: lines, code without comments, and display paths."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence

from lmemscope.model.blanked import Blanked, blanked
from lmemscope.model.places import is_library
from lmemscope.model.request import CompileOptions, SourceLocation

_SPELLED = r'(?:"(?P<name>[^"]+)"|<(?P<angled>[^>]+)>)'
_INCLUDE = re.compile(rf"\s*(?:#|%:)\s*(?:include|include_next|import)\s*{_SPELLED}")
_NAMED = re.compile(rf"\s*(?:#|%:)\s*define\s+\w+\s+{_SPELLED}")
"""A macro definition whose value may name an included file."""
_COMPUTED = re.compile(
    r"^[ \t]*(?:#|%:)[ \t]*(?:include|include_next|import)[ \t]+[A-Za-z_]", re.MULTILINE
)
_WORD = re.compile(r"\w+")
_GAP = re.compile(r"(?<=\S) {2,}(?=\S)")
_FILES = 64
"""Maximum number of files reached through one file's quoted includes."""


class DisplayPaths:
    """Converts paths for display: as typed, or relative to the working directory.

    Args:
        path: absolute path of the unit's input.
        typed: the path as the user typed it.
        directory: the working directory, absolute.
    """

    def __init__(self, path: str, typed: str, directory: str) -> None:
        self._path, self._typed, self._directory = path, typed, directory

    def shown(self, place: SourceLocation) -> SourceLocation:
        """A location with its path for display."""
        if os.path.normpath(place.file) == self._path:
            return SourceLocation(self._typed, place.line)
        if not os.path.isabs(place.file):
            return place
        relative = os.path.relpath(place.file, self._directory)
        return SourceLocation(place.file if relative.startswith("..") else relative, place.line)


_ALL_DEVICE = re.compile(r"-default-device\b|-device-as-default-execution-space\b")


class SourceText:
    """Lines of source files by name; a missing file has no lines.

    Attributes:
        main: the file that is compiled.
        is_relocatable: whether its code is linked later.
        is_all_device: whether functions without ``__device__`` may be the device's, as in all that
            CuPy compiles.

    Args:
        lines_of: returns all lines of a file, without line ends. The caller provides it, so that
            analysis and rules do not access the disk.
        main: the file that is compiled and includes the others, spelled as in locations; None if
            unknown.
        options: its compile options.
        mentioning: returns the other sources of the project around a file that contain a word, as
            the method `mentioning` does; without it there is no project.
    """

    def __init__(
        self,
        lines_of: Callable[[str], Sequence[str]],
        main: str | None = None,
        options: CompileOptions | None = None,
        mentioning: Callable[[str, str], tuple[str, ...]] = lambda file, word: (),
    ) -> None:
        self._lines_of = lines_of
        self._mentioning = mentioning
        self.main = main
        self._include_dirs = options.include_dirs if options is not None else ()
        self.is_relocatable = options is not None and options.is_relocatable
        given = (*options.nvrtc_args, *options.nvcc_args) if options is not None else ()
        is_python = main is not None and main.endswith(".py")
        self.is_all_device = is_python or any(_ALL_DEVICE.search(one) is not None for one in given)
        self._defines = options.defines if options is not None else ()
        self._texts: dict[str, str] = {}
        self._words: dict[str, frozenset[str]] = {}
        self._bare: dict[str, tuple[str, ...]] = {}
        self._blanked: dict[str, Blanked] = {}
        self._code_lines: dict[str, Sequence[str]] = {}
        self._matching: dict[tuple[str, re.Pattern[str]], tuple[str, ...]] = {}
        self._quoted: dict[tuple[str, bool], tuple[str, ...]] = {}

    def line(self, file: str, number: int) -> str:
        """The text of a line without its comment, or an empty string."""
        lines = self.bare_lines(file)
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def raw(self, file: str, number: int) -> str:
        """The text of a line unchanged, or an empty string."""
        lines = self._lines_of(file)
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def lines(self, file: str) -> Sequence[str]:
        """All lines of a file, unchanged."""
        return self._lines_of(file)

    def holds(self, file: str, *words: str) -> bool:
        """Whether a file contains one of the given texts anywhere.

        Comments and literals count too: excluding them takes much longer in a library's headers.
        """
        text = self.text(file)
        return any(word in text for word in words)

    def names(self, file: str, name: str) -> bool:
        """Whether a file contains a name as a word, possibly in a comment."""
        text, own = self.text(file), re.escape(name)
        # A pattern that starts with the name is found faster.
        return name in text and re.search(rf"{own}(?<!\w{own})(?!\w)", text) is not None

    def text(self, file: str) -> str:
        """The text of a file, with each line end as one newline."""
        if file not in self._texts:
            self._texts[file] = "\n".join(self._lines_of(file))
        return self._texts[file]

    def words(self, file: str) -> frozenset[str]:
        """The words of a file's code, numbers included."""
        if file not in self._words:
            self._words[file] = frozenset(_WORD.findall(self.code(file)))
        return self._words[file]

    def bare_lines(self, file: str) -> tuple[str, ...]:
        """All lines of a file without their comments; cached."""
        if file not in self._bare:
            lines = zip(self._lines_of(file), self.uncommented(file).split("\n"), strict=False)
            self._bare[file] = tuple(
                bare if bare == line else _GAP.sub(" ", bare.rstrip()) for line, bare in lines
            )
        return self._bare[file]

    def blanked(self, file: str) -> Blanked:
        """The text of a file with everything blanked that is not code; cached."""
        if file not in self._blanked:
            self._blanked[file] = blanked(self.text(file))
        return self._blanked[file]

    def code(self, file: str) -> str:
        """The text of a file, with comments and the contents of literals blanked."""
        return self.blanked(file).code

    def uncommented(self, file: str) -> str:
        """The text of a file with comments blanked."""
        return self.blanked(file).uncommented

    def code_lines(self, file: str) -> Sequence[str]:
        """The lines of `code`."""
        if file not in self._code_lines:
            self._code_lines[file] = self.code(file).split("\n")
        return self._code_lines[file]

    def code_line(self, file: str, number: int) -> str:
        """A line of `code`, in which braces match; an empty string if there is no such line."""
        lines = self.code_lines(file)
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def given(self, macro: str) -> str | None:
        """The value of a macro defined on the command line; None for other names."""
        for define in reversed(self._defines):
            name, is_valued, value = define.partition("=")
            if name == macro:
                return value if is_valued else "1"
        return None

    def quoted(self, file: str, *, searched: bool = False) -> tuple[str, ...]:
        """The files that a file includes in quotes, directly and indirectly.

        Each is looked up beside the file that names it; a missing file has no lines. Headers of
        libraries are left out: the user did not write them.

        Args:
            file: the including file.
            searched: also search the ``-I`` directories; an include in angle brackets counts if it
                is found there.
        """
        key = (file, searched)
        if key not in self._quoted:
            self._quoted[key] = tuple(self._reached(file, self._include_dirs if searched else ()))
        return self._quoted[key]

    def _reached(self, file: str, directories: Sequence[str]) -> Iterator[str]:
        seen, work = {file}, [file]
        while work and len(seen) < _FILES:
            including = work.pop()
            for line in () if is_library(including) else self._lines_of(including):
                found = _INCLUDE.match(line) if "include" in line or "import" in line else None
                if found is None:
                    continue
                beside = os.path.dirname(including)
                places = directories if found["angled"] else (beside, *directories)
                paths = [
                    os.path.normpath(os.path.join(one, found["angled"] or found["name"]))
                    for one in places
                ]
                there = (one for one in paths if directories and self._lines_of(one))
                path = next(there, None if found["angled"] else paths[0])
                if path is not None and path not in seen:
                    seen.add(path)
                    work.append(path)
                    yield path

    def mentioning(self, file: str, word: str) -> tuple[str, ...]:
        """Absolute paths of the project's sources that contain a word, nearest first."""
        return self._mentioning(file, word)

    def including(self, file: str) -> tuple[str, ...]:
        """Absolute paths of the project's sources that include a file, or may through a macro.

        Sources that include a file of the same name elsewhere count too, unless that is beside
        them.
        """
        own, name = os.path.abspath(file), os.path.basename(file)
        return tuple(
            os.path.abspath(one)
            for one in self.mentioning(file, name)
            if any(
                os.path.basename(spelled) == name and self._may_be(own, one, spelled)
                for line in self._lines_of(one)
                if (found := _INCLUDE.match(line) or _NAMED.match(line)) is not None
                for spelled in [found["name"] or found["angled"]]
            )
        )

    def computes_includes(self, file: str) -> bool:
        """Whether a file has an include whose name comes from a macro, which is not followed."""
        return _COMPUTED.search(self.code(file)) is not None

    def _may_be(self, file: str, including: str, spelled: str) -> bool:
        """Whether an include may refer to a file; one beside the including file comes first."""
        beside = os.path.abspath(os.path.join(os.path.dirname(including), spelled))
        return beside == file or not self._lines_of(beside)

    def is_quoted(self, file: str, name: str) -> bool:
        """Whether a string literal in a file contains a name."""
        word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        counts = [len(word.findall(text)) for text in (self.code(file), self.uncommented(file))]
        return counts[0] != counts[1]

    def is_elsewhere(self, file: str) -> bool:
        """Whether sources other than the compiled one may include a file's text.

        True for a header, and for any file that another file of the project includes.
        """
        own = os.path.abspath(self.main or file)
        return not file.endswith((".cu", ".py")) or any(own != one for one in self.including(file))

    def matching(self, file: str, pattern: re.Pattern[str]) -> tuple[str, ...]:
        """The text, without comments, of the lines that match a pattern."""
        key = (file, pattern)
        if key not in self._matching:
            found = (line for line in self.bare_lines(file) if pattern.search(line))
            self._matching[key] = tuple(found)
        return self._matching[key]

    def mentions(self, file: str, number: int, name: str) -> bool:
        """Whether a line contains a name as a word."""
        return (
            re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", self.line(file, number)) is not None
        )

    def subscript(self, file: str, number: int, name: str) -> str | None:
        """The index of the first ``name[…]`` on a line; several dimensions as ``[i][j]``."""
        text = self.line(file, number)
        before = "" if name.startswith(".") else r"(?<![\w.])"
        pattern = rf"{before}{re.escape(name)}\s*\["
        for match in re.finditer(pattern, text):
            parts = []
            position = match.end() - 1
            while position < len(text) and text[position] == "[":
                end = _closing(text, position)
                if end < 0:
                    break
                parts.append(text[position + 1 : end].strip())
                position = end + 1
                while position < len(text) and text[position] == " ":
                    position += 1
            if parts and not all(part.isdigit() for part in parts):
                return parts[0] if len(parts) == 1 else "".join(f"[{part}]" for part in parts)
        return None


def _closing(text: str, position: int) -> int:
    depth = 0
    for index in range(position, len(text)):
        depth += (text[index] == "[") - (text[index] == "]")
        if depth == 0:
            return index
    return -1
