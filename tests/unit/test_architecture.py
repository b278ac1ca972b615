"""The shape of the code base: who may import whom, and how long a module may be.

The directions of imports are contracts in pyproject.toml.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

from tests.support.program import ROOT

PACKAGE = ROOT / "lmemscope"
LONGEST = 500
VAGUE = ("utils", "util", "helpers", "common", "misc")


@dataclass(frozen=True)
class Module:
    """What its text says.

    Attributes:
        path: below the checkout.
        text: of the file.
        imports: each module and the name imported from it; `runs_first` has those outside of
            functions and type checking.
        replaced: names that ``setattr`` and ``delattr`` are given.
    """

    path: str
    text: str
    imports: tuple[tuple[str, str], ...]
    runs_first: tuple[tuple[str, str], ...]
    replaced: tuple[str, ...]

    @property
    def dotted(self) -> str:
        """Its name below the package; a package's is that of its ``__init__``."""
        parts = Path(self.path).with_suffix("").parts[1:]
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def read(path: Path) -> Module:
    text = path.read_text()
    tree = ast.parse(text)
    imports, replaced = [], []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            imports.append(node)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("setattr", "delattr")
        ):
            values = [a.value for a in node.args if isinstance(a, ast.Constant)]
            replaced += [value for value in values if isinstance(value, str)]
    first = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return Module(str(path.relative_to(ROOT)), text, names(imports), names(first), tuple(replaced))


def names(nodes: list[ast.ImportFrom]) -> tuple[tuple[str, str], ...]:
    return tuple((node.module or "", alias.name) for node in nodes for alias in node.names)


@pytest.fixture(scope="module")
def modules() -> list[Module]:
    return [read(path) for path in sorted(PACKAGE.rglob("*.py"))]


@pytest.fixture(scope="module")
def tests() -> list[Module]:
    return [read(path) for path in sorted((ROOT / "tests").rglob("*.py"))]


def test_imports_keep_the_contracts(capsys: pytest.CaptureFixture[str]) -> None:
    code = lint_imports(str(ROOT / "pyproject.toml"), no_cache=True, no_logo=True)
    assert code == 0, capsys.readouterr().out


def test_the_package_itself_gives_its_version_alone(modules: list[Module]) -> None:
    """What the contract of directions leaves out: `lmemscope.scan` is at the very top."""
    inside = {path.stem for path in PACKAGE.iterdir()} | {"__version__"}
    assert [
        (module.path, name)
        for module in modules
        for base, name in module.imports
        if base == "lmemscope" and name not in inside
    ] == []


def test_no_module_is_part_of_an_import_cycle(modules: list[Module]) -> None:
    ours = {module.dotted for module in modules}
    graph: dict[str, set[str]] = {}
    for module in modules:
        bases = [
            (base.removeprefix("lmemscope").removeprefix("."), name)
            for base, name in module.runs_first
            if base.startswith("lmemscope")
        ]
        graph[module.dotted] = {
            inside if (inside := f"{base}.{name}".lstrip(".")) in ours else base
            for base, name in bases
        } & ours
    finished: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, f"import cycle: {' → '.join((*path, name))}"
        if name not in finished:
            for other in sorted(graph[name] - {name}):
                visit(other, (*path, name))
            finished.add(name)

    for name in sorted(graph):
        visit(name, ())


def test_the_analysis_runs_nothing_and_reads_nothing(modules: list[Module]) -> None:
    """It compiles nothing, reads no disk and writes no cache; a contract has what it imports."""
    ambient = ("open(", "Path(", "os.environ", "getcwd", "subprocess")
    pure = [m for m in modules if m.path.startswith(("lmemscope/analysis/", "lmemscope/rules/"))]
    assert len(pure) > 50
    assert [(m.path, word) for m in pure for word in ambient if word in m.text] == []


def test_modules_stay_readable(modules: list[Module]) -> None:
    lines = {module.path: len(module.text.splitlines()) for module in modules}
    assert {path: count for path, count in lines.items() if count > LONGEST} == {}
    assert [path for path in lines if Path(path).stem in VAGUE] == []


def test_no_module_reaches_for_a_private_name(modules: list[Module], tests: list[Module]) -> None:
    """With ruff's SLF001, which sees ``module._name``."""
    imported = [
        (module.path, name)
        for module in modules + tests
        for base, name in module.imports
        if base.startswith("lmemscope") and name.startswith("_") and name != "__version__"
    ]
    replaced = [(m.path, name) for m in modules + tests for name in m.replaced if name[:1] == "_"]
    assert imported + replaced == []


def test_tests_share_by_builders_and_fixtures_alone(tests: list[Module]) -> None:
    assert [
        (module.path, base)
        for module in tests
        for base, name in module.imports
        if base.startswith("tests") and ".test_" in f"{base}.{name}"
    ] == []
