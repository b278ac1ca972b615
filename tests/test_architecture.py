"""The shape of the code base, held by a test: who may import whom, and how long a module may be."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "lmemscope"
MODULES = sorted(PACKAGE.rglob("*.py"))

LAYERS = (
    {"model", "errors"},
    {"formats"},
    {"config", "sources", "tools"},
    {"lowering"},
    {"discover"},
    {"analysis"},
    {"rules"},
    {"gate"},
    {"exporters"},
    {"running"},
    {"pipeline"},
    {"commands", "api", "pytest_plugin", "__main__", "__init__"},
)
LONGEST = 500


def layer(name: str) -> int:
    for index, names in enumerate(LAYERS):
        if name in names:
            return index
    raise AssertionError(f"{name} has no layer: add it to LAYERS")


def part(module: Path) -> str:
    return module.relative_to(PACKAGE).with_suffix("").parts[0]


def imported(module: Path) -> set[str]:
    tree = ast.parse(module.read_text())
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "lmemscope":
                names |= {alias.name for alias in node.names}
            elif node.module.startswith("lmemscope."):
                names.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            names |= {a.name.split(".")[1] for a in node.names if a.name.startswith("lmemscope.")}
    return names - {"__version__"}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_one_way(module: Path) -> None:
    own = layer(part(module))
    for name in imported(module):
        assert layer(name) <= own, f"{module.name} imports {name}"


def test_the_model_imports_nothing_of_ours() -> None:
    for module in (PACKAGE / "model").glob("*.py"):
        assert imported(module) <= {"model"}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_stay_readable(module: Path) -> None:
    assert len(module.read_text().splitlines()) <= LONGEST
    assert module.stem not in ("utils", "util", "helpers", "common", "misc")


def test_only_the_toolchain_and_the_workers_start_processes() -> None:
    starters = [str(m.relative_to(PACKAGE)) for m in MODULES if "subprocess" in m.read_text()]
    assert starters == ["running/launch.py", "tools/toolchain.py"]
