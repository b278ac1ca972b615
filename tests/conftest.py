from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lmemscope.formats.demangle import short_name

ROOT = Path(__file__).parent.parent
DATA = ROOT / "tests" / "data"


@dataclass(frozen=True)
class Finished:
    """A finished run of the program."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(self.out)
        return loaded

    def kernel(self, name: str, arch: str | None = None) -> dict[str, Any]:
        found: list[dict[str, Any]] = [
            kernel
            for unit in self.document["units"]
            for kernel in unit["kernels"]
            if name in (kernel["name"], short_name(kernel["demangled"]))
            and arch in (None, unit["arch"])
        ]
        assert len(found) == 1, [k["demangled"] for k in found]
        return found[0]


RunProgram = Callable[..., Finished]


def run_program(*arguments: str, cwd: Path | None = None, **environment: str) -> Finished:
    done = subprocess.run(
        [sys.executable, "-m", "lmemscope", *arguments],
        cwd=cwd or ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Finished(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tests start from an empty cache and leave the developer's alone."""
    os.environ["LMEMSCOPE_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def shipped() -> Finished:
    """One scan of the shipped kernels, as JSON."""
    return run_program("scan", "kernels", "--format", "json", "--arch", "sm_90")
