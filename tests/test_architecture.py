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
    {"model", "errors", "files", "whole", "environment"},
    {"formats"},
    {"config"},
    {"analysis"},
    {"rules"},
    {"gate"},
    {"exporters"},
    {"sources", "tools"},
    {"rewrites"},
    {"lowering"},
    {"discover"},
    {"running"},
    {"pipeline", "linking"},
    {"app"},
    {"fixing"},
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


def dotted(module: Path) -> str:
    """A module's dotted name below the package; a package's is that of its ``__init__``."""
    parts = module.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_at_the_top(module: Path, names: set[str]) -> set[str]:
    """Modules of ours that importing this one imports, those of type checking aside."""
    found: set[str] = set()
    for node in ast.parse(module.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("lmemscope"):
            base = node.module.removeprefix("lmemscope").removeprefix(".")
            inside = {f"{base}.{alias.name}".lstrip(".") for alias in node.names} & names
            found |= inside or {base}
    return found & names


def test_no_module_is_part_of_an_import_cycle() -> None:
    names = {dotted(module) for module in MODULES}
    graph = {dotted(module): imports_at_the_top(module, names) for module in MODULES}
    finished: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, f"import cycle: {' → '.join((*path, name))}"
        if name not in finished:
            for other in sorted(graph[name] - {name}):
                visit(other, (*path, name))
            finished.add(name)

    for name in sorted(graph):
        visit(name, ())


def test_the_analysis_runs_nothing_and_reads_nothing() -> None:
    """It compiles nothing, reads no disk and writes no cache: by what it can reach at all."""
    for module in [*(PACKAGE / "analysis").rglob("*.py"), *(PACKAGE / "rules").rglob("*.py")]:
        text = module.read_text()
        assert imported(module) <= {"model", "errors", "formats", "analysis", "rules"}, module
        ambient = ("open(", "Path(", "os.environ", "getcwd", "subprocess")
        assert not [word for word in ambient if word in text], module


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_stay_readable(module: Path) -> None:
    assert len(module.read_text().splitlines()) <= LONGEST
    assert module.stem not in ("utils", "util", "helpers", "common", "misc")


def test_only_the_toolchain_and_the_workers_start_processes() -> None:
    # And what reads names, which has no other way to limit a library's memory.
    starters = [str(m.relative_to(PACKAGE)) for m in MODULES if "subprocess" in m.read_text()]
    assert starters == [
        "formats/demangling_child.py",
        "running/launch.py",
        "tools/isolated.py",
        "tools/process.py",
    ]


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
