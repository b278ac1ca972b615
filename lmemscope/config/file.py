"""Find, read and check ``[tool.lmemscope]`` of pyproject.toml, or lmemscope.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmemscope.config.kinds import Place, nearest
from lmemscope.config.options import OPTIONS, Row
from lmemscope.errors import UsageError
from lmemscope.files import read_beside

OWN = "lmemscope.toml"
_STAGE = "configuration"
_MOST_PARTS = 50
_DEEP_KEY = re.compile(rb"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){%d}" % _MOST_PARTS)
"""A dotted key for which `tomllib` would need time and memory quadratic in its parts."""


@dataclass(frozen=True, slots=True)
class ConfigurationFile:
    """The nearest configuration file.

    Attributes:
        path: absolute; None if there is no file.
        values: checked values by option name. In lists of tables, each table has all of its keys.
    """

    path: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def directory(self) -> str:
        """The directory that relative paths and globs in the file start from."""
        return str(Path(self.path).parent) if self.path is not None else "."


Content = Callable[[Path], bytes | None]
"""Reads a file; None if it does not exist."""


def on_disk(path: Path) -> bytes | None:
    """The current content of a file on disk."""
    return read_beside(path) if path.is_file() else None


def read(start: str = ".", content: Content = on_disk) -> ConfigurationFile:
    """Read the nearest configuration, from a directory upwards.

    Args:
        start: the directory.
        content: reads files; replaced to read the configuration of a revision.

    Raises:
        UsageError: the file is not TOML, or has an unknown key or a value that its key does not
            accept.
    """
    here = Path(start).resolve()
    for directory in (here, *here.parents):
        own = directory / OWN
        document = _parsed(own, content)
        if document is not None:
            return _checked(own, document)
        project = directory / "pyproject.toml"
        document = _parsed(project, content)
        if document is not None:
            tools = document.get("tool")
            section = tools.get("lmemscope") if isinstance(tools, dict) else None
            if section is not None:
                return _checked(project, section)
    return ConfigurationFile()


def _parsed(path: Path, content: Content) -> dict[str, Any] | None:
    try:
        found = content(path)
        if found is not None and _DEEP_KEY.search(found) is not None:
            raise ValueError(f"a key of more than {_MOST_PARTS} parts")
        return None if found is None else tomllib.loads(found.decode("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(_STAGE, f"{path} cannot be read: {error}") from error


def _checked(path: Path, section: object) -> ConfigurationFile:
    if not isinstance(section, dict):
        raise UsageError(
            _STAGE, f"{path}: tool.lmemscope is no table", hint="write [tool.lmemscope]"
        )
    rows = [row for row in OPTIONS if row.file]
    if path.name == OWN and "tool" in section:
        raise UsageError(
            _STAGE,
            f"{path}: unknown key tool",
            hint=f"[tool.lmemscope] is for pyproject.toml; in {OWN} the keys stand at the top",
        )
    return ConfigurationFile(str(path), _values(section, rows, f"{path}: ", str(path.parent)))


def _values(
    table: Mapping[str, object], rows: Sequence[Row], prefix: str, directory: str
) -> dict[str, Any]:
    """The checked values of a table's keys, by option name."""
    known = {row.key: row for row in rows}
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            raise UsageError(_STAGE, f"{prefix}unknown key {key}", hint=_meant(key, known))
        row = known[key]
        place = Place(f"{prefix}{key}", directory, _STAGE)
        checked = row.kind.check(value, place)
        if row.rows:
            checked = tuple(
                _complete(one, row.rows, f"{prefix}{key}, table {number}: ", directory)
                for number, one in enumerate(checked, start=1)
            )
        values[row.name] = checked
    return values


def _complete(
    table: Mapping[str, object], rows: Sequence[Row], prefix: str, directory: str
) -> dict[str, Any]:
    """A table in a list: its values, with defaults for missing keys."""
    values = _values(table, rows, prefix, directory)
    for row in rows:
        if row.required and row.name not in values:
            raise UsageError(
                _STAGE, f"{prefix}no {row.key}", hint=f"{row.key} takes {row.kind.accepts}"
            )
    return {row.name: row.default for row in rows} | values


def _meant(key: str, known: Mapping[str, Row]) -> str:
    """The key that an unknown key was probably meant to be."""
    listed = f"keys: {', '.join(sorted(known))}"
    near = nearest(key, list(known), 0.8)
    if near is not None:
        return f"did you mean {near}?"
    alone = next((row for row in OPTIONS if row.name == key.replace("-", "_")), None)
    if alone is not None and not alone.file:
        return f"only the command line takes it: {alone.flag}"
    for row in known.values():
        if any(inner.key == key.replace("_", "-") for inner in row.rows):
            return f"{key} belongs in a table of the list {row.key}"
    near = nearest(key, list(known))
    return f"did you mean {near}?" if near is not None else listed
