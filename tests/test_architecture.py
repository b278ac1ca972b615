"""The shape of the code base, held by a test: who may import whom, and how long a module may be."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "lmemscope"
MODULES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted((ROOT / "tests").glob("*.py"))

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


def private_names(module: Path) -> list[str]:
    """Private names of lmemscope that a module imports from elsewhere, or replaces by name."""
    found = []
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lmemscope"):
            found += [alias.name for alias in node.names if alias.name.startswith("_")]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            names = [a.value for a in node.args if isinstance(a, ast.Constant)]
            if node.func.attr in ("setattr", "delattr"):
                found += [n for n in names if isinstance(n, str) and n.startswith("_")]
    return [name for name in found if name != "__version__"]


@pytest.mark.parametrize("module", [*MODULES, *TESTS], ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_reaches_for_a_private_name(module: Path) -> None:
    """With ruff's SLF001, which sees ``module._name``."""
    assert private_names(module) == []


@pytest.mark.parametrize("module", TESTS, ids=lambda path: path.stem)
def test_tests_share_by_builders_and_fixtures_alone(module: Path) -> None:
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            assert not node.module.startswith("tests.test_")
