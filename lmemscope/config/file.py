"""``[tool.lmemscope]`` of pyproject.toml, or lmemscope.toml: found upwards from where one is."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmemscope.errors import UsageError

OPTIONS = frozenset(
    {
        "arch",
        "frontend",
        "include-dirs",
        "defines",
        "std",
        "maxrregcount",
        "use-fast-math",
        "instantiate",
        "nvrtc-args",
        "nvcc-args",
        "ptxas-args",
        "kernels",
        "jobs",
        "timeout",
        "toolkit",
        "executor",
        "include",
        "exclude",
        "signatures",
        "baseline",
        "tolerance",
        "limits",
        "allowances",
    }
)


@dataclass(frozen=True, slots=True)
class Configuration:
    """The section as read, and the file it is from (``path`` is None without one)."""

    path: str | None = None
    section: Mapping[str, Any] = field(default_factory=dict)

    @property
    def directory(self) -> str:
        """Directory that relative paths of the section start from."""
        return str(Path(self.path).parent) if self.path is not None else "."


def find(start: str = ".") -> Configuration:
    """Read the nearest configuration.

    Raises:
        UsageError: the file is no TOML, or has a key that is not known.
    """
    here = Path(start).resolve()
    for directory in (here, *here.parents):
        own = directory / "lmemscope.toml"
        if own.is_file():
            return _checked(own, _parsed(own))
        project = directory / "pyproject.toml"
        if project.is_file():
            section = _parsed(project).get("tool", {}).get("lmemscope")
            if section is not None:
                return _checked(project, section)
    return Configuration()


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError("configuration", f"{path} cannot be read: {error}") from error


def _checked(path: Path, section: Any) -> Configuration:
    if not isinstance(section, dict):
        raise UsageError("configuration", f"{path}: tool.lmemscope is no table")
    for key in section:
        if key not in OPTIONS:
            raise UsageError(
                "configuration",
                f"{path}: unknown key {key}",
                hint=f"keys: {', '.join(sorted(OPTIONS))}",
            )
    return Configuration(str(path), section)
