"""The table of options: every door checks alike, and what each door says arrives."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from docs import generate_options
from lmemscope.api import scan
from lmemscope.commands.check import command as check_command
from lmemscope.commands.dump import command as dump_command
from lmemscope.commands.options import configured_options, group_options
from lmemscope.commands.scan import command as scan_command
from lmemscope.config import file
from lmemscope.config.options import ALLOWANCE, LIMIT, OPTIONS, Row, Settings, rows_of
from lmemscope.config.settings import Configuration, from_arguments, from_flags
from lmemscope.discover.plan import combined
from lmemscope.errors import CompileError, InputError, UsageError
from lmemscope.formats.kernel_names import matches, spellings
from lmemscope.gate import policy
from lmemscope.model import CompileOptions, KernelDirective, Limit, UnitReport, View

ROOT = Path(__file__).parents[3]

GOOD: dict[str, tuple[list[str], str, object]] = {
    "arch": (["sm_80"], '["sm_80"]', ("sm_80",)),
    "include-dirs": (["/inc"], '["/inc"]', ("/inc",)),
    "defines": (["A=1"], '["A=1"]', ("A=1",)),
    "std": (["c++20"], '"c++20"', "c++20"),
    "maxrregcount": (["32"], "32", 32),
    "use-fast-math": ([], "true", True),
    "instantiate": (["rm<32>"], '["rm<32>"]', ("rm<32>",)),
    "frontend": (["nvcc"], '"nvcc"', "nvcc"),
    "nvrtc-args": (["-G"], '["-G"]', ("-G",)),
    "nvcc-args": (["-G"], '["-G"]', ("-G",)),
    "ptxas-args": (["-v"], '["-v"]', ("-v",)),
    "run-python": ([], "", True),
    "signatures": (["k(int32)"], '["k(int32)"]', ("k(int32)",)),
    "compile-ptx": (["sm_90a"], '["sm_90a"]', ("sm_90a",)),
    "kernels": (["a*"], '["a*"]', ("a*",)),
    "jobs": (["1"], "1", 1),
    "timeout": (["0.5"], "0.5", 0.5),
    "max-file-size": (["64"], "64", 64),
    "toolkit": (["/"], '"/"', "/"),
    "executor": (["dask://h:1"], '"dask://h:1"', "dask://h:1"),
    "linked": ([], "", True),
    "lto": ([], "true", True),
    "link": ([], '[{name = "app", inputs = ["a.cu"]}]', None),
    "build-database": ([], "false", False),
    "objects": ([], "false", False),
    "trust-build": ([], "", True),
    "cache": ([], "false", None),
    "include": (["src/*"], '["src/*"]', ("src/*",)),
    "exclude": (["old/*"], '["old/*"]', ("old/*",)),
    "causes": ([], "", False),
    "device": (["H200"], '"H200"', "H200"),
    "sm-count": (["132"], "132", 132),
    "threads-per-sm": (["2048"], "2048", 2048),
    "stack-limit": (["4096"], "4096", 4096),
    "pending-launches": (["8192"], "8192", 8192),
    "top": (["5"], "", 5),
    "cause": (["printf-args"], "", ("printf-args",)),
    "local-only": ([], "", True),
    "sort": (["frame"], "", "frame"),
    "group": ([], "", True),
    "all": ([], "", True),
    "baseline": (["b.json"], '"b.json"', "b.json"),
    "tolerance": (["16"], "16", 16),
    "toolchain-tolerance": (["20"], "20", 20),
    "uninstantiated": (["note"], '"note"', "note"),
    "external": (["note"], '"note"', "note"),
    "limits": ([], "[{max-frame = 8}]", None),
    "allowances": ([], '[{cause = "volatile", reason = "r"}]', None),
}
"""Of each option: a flag's value, the same in TOML, and what it becomes."""

WRONG: dict[str, list[str]] = {
    "arch": ["90", "[90]", '""', "{}"],
    "include-dirs": ["3", "[3]", '[""]'],
    "defines": ["{A = 1}", "[1]", '["\\u0000"]'],
    "std": ["20", '""', '["c++20"]'],
    "maxrregcount": ["0", "-1", '"32"', "32.0", "true"],
    "use-fast-math": ["1", '"yes"'],
    "instantiate": ["32", "[32]"],
    "frontend": ['"gcc"', "1", '["nvcc"]', '"AUTO"'],
    "nvrtc-args": ["1", "[1]"],
    "nvcc-args": ["1", "[1]"],
    "ptxas-args": ["1", "[1]"],
    "signatures": ["1", "[1]"],
    "compile-ptx": ["90", '"compute_90"', '["sm_90b"]'],
    "kernels": ["1", "[1]", '[""]'],
    "jobs": ["-3", "0", "1025", '"4"', "1.0", "true"],
    "max-file-size": ["0", "-1", "1.5", "true"],
    "timeout": ["-1", "0", "nan", "inf", "1e300", '"5s"', "true"],
    "toolkit": ['"no/where"', "1", '""'],
    "executor": ['"localhost:8786"', '"dask://"', "1"],
    "lto": ['"no"', "0"],
    "link": ["3", "{}", '["a.cu"]'],
    "build-database": ['"no"', "0"],
    "objects": ['"no"', "0"],
    "cache": ['"no"', "0"],
    "include": ["1", "[1]"],
    "exclude": ["1", "[1]"],
    "device": ["1", '""'],
    "sm-count": ["0", '"132"', "true"],
    "threads-per-sm": ["0", "31"],
    "stack-limit": ["-1", '"4096"'],
    "pending-launches": ["0", "1.5"],
    "baseline": ["1", '""', "true", '"/b.json"', '"../b.json"', '"a/../../b.json"'],
    "tolerance": ['"many"', "-1", "1.5", "true"],
    "toolchain-tolerance": ['"many"', "-1", "1.5", "true"],
    "uninstantiated": ['"ignore"', "true", '["note"]'],
    "external": ['"ignore"', "false"],
    "limits": ["3", "{max-frame = 1}", "[1]"],
    "allowances": ["3", "{}", '["volatile"]'],
}

WRONG_IN_TABLES = [
    ("limits", "kernel = 5", "kernel", "5"),
    ("limits", "arch = 90", "arch", "90"),
    *(("limits", f"{row.key} = {value}", row.key, value)
      for row in LIMIT if row.key.startswith("max-")
      for value in ("true", "-1", '"x"', "1.5")),
    ("limits", "forbid = 5", "forbid", "5"),
    ("limits", 'forbid = ["spill"]', "forbid", '"spill"'),
    ("limits", "allow = 5", "allow", "5"),
    ("limits", "allow = [5]", "allow", "5"),
    ("link", "name = 5", "name", "5"),
    ("link", 'inputs = [""]', "inputs", '""'),
    ("link", 'depth = ["f"]', "depth", '"f"'),
    ("link", 'depth = ["f=0"]', "depth", '"f=0"'),
    ("allowances", "kernel = 5", "kernel", "5"),
    ("allowances", "cause = 5", "cause", "5"),
    ("allowances", 'bytes = "lots"', "bytes", '"lots"'),
    ("allowances", "bytes = -1", "bytes", "-1"),
    ("allowances", "bytes = true", "bytes", "true"),
    ("allowances", 'reason = " "', "reason", '" "'),
    ("allowances", 'expires = "2027-06-30"', "expires", '"2027-06-30"'),
    ("allowances", "expires = 2027-06-30T10:00:00", "expires", "2027-06-30T10:00:00"),
]  # fmt: skip


REQUIRED = {
    "allowances": 'cause = "volatile"\nreason = "r"\n',
    "link": 'name = "app"\ninputs = ["a.cu"]\n',
}
"""What a table of each list has to say."""


def named(rows: tuple[Row, ...], key: str) -> Row:
    return next(row for row in rows if row.key == key)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory, which the test stands in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(text: str) -> Configuration:
    Path("lmemscope.toml").write_text(text)
    return from_flags({"trust_build": True})


def flagged(*arguments: str) -> Configuration:
    """What a command that has every flag is given."""
    given: list[Configuration] = []

    @click.command()
    @group_options("facts")
    @group_options("gate")
    @group_options("view")
    @configured_options
    def command(configuration: Configuration, color: str) -> None:
        given.append(configuration)

    result = CliRunner().invoke(command, arguments)
    if isinstance(result.exception, UsageError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return given[0]


def value_of(configuration: Configuration, row: Row) -> Any:
    settings = configuration.settings
    name = "archs" if row.name == "arch" else row.name
    for holder in (
        configuration,
        settings,
        settings.options,
        settings.view,
        configuration.policy,
    ):
        if hasattr(holder, name):
            return getattr(holder, name)
    raise AssertionError(f"the value of {row.key} arrives nowhere")


# --- one row, every door --------------------------------------------------------------------


def test_every_option_is_tested() -> None:
    assert GOOD.keys() == {row.key for row in OPTIONS}
    assert WRONG.keys() == {row.key for row in OPTIONS if row.file}
    names = [row.name for row in (*OPTIONS, *LIMIT) if row.flags]
    assert len(names) == len(set(names)), "flags of one command share a name"


@pytest.mark.parametrize("row", [row for row in OPTIONS if not row.rows], ids=lambda row: row.key)
def test_a_value_arrives_by_every_door(row: Row, here: Path) -> None:
    by_flag, in_toml, expected = GOOD[row.key]
    default = value_of(from_flags({}), row)
    assert default != expected
    if row.flags:
        off = row.kind.shape == "switch" and row.default is True and "/" in row.flags[-1]
        flag = f"--no-{row.key}" if off else row.flag
        assert value_of(flagged(flag, *by_flag), row) == expected
    if row.api:
        given = {"cache": False, "causes": False, "build-database": False, "objects": False}.get(
            row.key, expected
        )
        assert value_of(Configuration(from_arguments({row.name: given})), row) == expected
    if row.file:
        inside = str(here / "b.json") if row.key == "baseline" else expected
        assert value_of(written(f"{row.key} = {in_toml}"), row) == inside
    else:
        with pytest.raises(UsageError, match=f"unknown key {row.key}"):
            written(f"{row.key} = true")


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in WRONG.items() for value in values]
)
def test_a_wrong_value_of_the_file_is_named(key: str, value: str, here: Path) -> None:
    row = named(OPTIONS, key)
    with pytest.raises(UsageError) as caught:
        written(f"{key} = {value}")
    message = caught.value.message
    assert message.startswith(f"{here / 'lmemscope.toml'}: {key} ")
    assert " is " in message or " holds " in message
    # Of a list, a wrong item is told what an item is.
    assert message.endswith(f", not {row.kind.accepts}") or row.kind.shape == "many"
    assert ", not " in message


@pytest.mark.parametrize(("table", "line", "key", "value"), WRONG_IN_TABLES)
def test_a_wrong_value_in_a_table_is_named(
    table: str, line: str, key: str, value: str, here: Path
) -> None:
    first = REQUIRED.get(table, "")
    with pytest.raises(UsageError) as caught:
        written(f"[[{table}]]\n{first}\n[[{table}]]\n{line}\n")
    message = caught.value.message
    assert f"lmemscope.toml: {table}, table 2: {key} " in message
    assert f" {value}, not " in message


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--jobs", "0"),
        ("--jobs", "-3"),
        ("--jobs", "many"),
        ("--jobs", "1025"),
        ("--timeout", "0"),
        ("--timeout", "nan"),
        ("--timeout", "inf"),
        ("--timeout", "1e+300"),
        ("--maxrregcount", "0"),
        ("--frontend", "gcc"),
        ("--toolkit", "no/where"),
        ("--executor", "h:1"),
        ("--arch", ""),
        ("-D", ""),
        ("--max-frame", "-1"),
        ("--tolerance", "1.5"),
        ("--forbid", "spill"),
        ("--allow", "spill"),
    ],
)
def test_a_wrong_value_of_a_flag_is_named(flag: str, value: str, here: Path) -> None:
    with pytest.raises(UsageError, match="^" + flag + " is .*, not ") as caught:
        flagged(flag, value)
    assert value in caught.value.message


@pytest.mark.parametrize(
    "arguments",
    [
        {"jobs": -1},
        {"jobs": 0},
        {"jobs": 10**9},
        {"jobs": True},
        {"timeout": -1},
        {"timeout": float("nan")},
        {"frontend": "gcc"},
        {"arch": 90},
        {"arch": [90]},
        {"arch": b"sm_90"},
        {"defines": {"A": 1}},
        {"cache": "no"},
        {"toolkit": "no/where"},
        {"maxrregcount": 0},
        {"causes": None, "std": 20},
    ],
)
def test_a_wrong_value_of_the_api_is_named_at_once(arguments: dict[str, Any]) -> None:
    name = list(arguments)[-1]
    with pytest.raises(UsageError, match=f"^scan: {name} (is|holds) .*, not "):
        scan("nothing.cu", **arguments)


def test_the_api_takes_paths_and_single_strings(here: Path) -> None:
    settings = from_arguments({"arch": "sm_80", "include_dirs": [Path("inc")], "toolkit": here})
    assert settings.archs == ("sm_80",)
    assert settings.options.include_dirs == (str(here / "inc"),)
    assert settings.toolkit == str(here)
    with pytest.raises(UsageError, match=r"scan: executor is .*, not a concurrent"):
        scan("nothing.cu", executor="dask://h:1")  # type: ignore[arg-type]


# --- the doors agree with the table ---------------------------------------------------------


def test_the_signature_of_scan_is_the_table() -> None:
    parameters = dict(inspect.signature(scan).parameters)
    del parameters["paths"], parameters["executor"]
    rows = {row.name: row for row in OPTIONS if row.api}
    assert parameters.keys() == rows.keys()
    assert {name: p.default for name, p in parameters.items()} == {
        name: row.default for name, row in rows.items()
    }
    documented = scan.__doc__ or ""
    assert [name for name in rows if name not in documented] == []


@pytest.mark.parametrize("command", [scan_command, check_command], ids=["scan", "check"])
def test_commands_have_the_flags_of_their_groups(command: click.Command) -> None:
    groups = {"scan": {"compile", "facts", "view"}, "check": {"compile", "gate"}}[
        command.name or ""
    ]
    wanted = {
        spelling
        for row in OPTIONS
        if row.group in groups
        for one in (row, *row.rows)
        for flag in one.flags
        for spelling in flag.split("/")
    }
    found = {name for p in command.params for name in (*p.opts, *p.secondary_opts)}
    assert wanted <= found
    others = {flag for row in OPTIONS if row.group not in groups for flag in row.flags}
    assert not others & found


def test_every_field_that_is_set_has_an_option() -> None:
    names = {row.name for row in OPTIONS} | {"archs", "root", "options", "view", "time_limit"}
    # What `explain` quotes follows from its own flags; `check` takes the baseline's defaults.
    names |= {"quotes", "default_archs", "narrowed", "left_out", "arguments_as_written", "moved"}
    # What a command shows decides whether rewrites are asked, and what reports hold.
    names |= {"proposals", "accesses"}
    for kind in (Settings, CompileOptions, View):
        assert set(kind.__struct_fields__) <= names
    assert {row.name for row in LIMIT} == set(Limit.__struct_fields__)


def test_the_documentation_is_the_table() -> None:
    text = generate_options.TARGET.read_text()
    assert generate_options.render() in text, "run: python docs/generate_options.py"
    for row in (*OPTIONS, *LIMIT, *ALLOWANCE):
        doors = (row.key if row.file else None, row.name if row.api else None, *row.flags)
        assert any(f"`{door}`" in text for door in doors if door)


# --- what the doors say together ------------------------------------------------------------


@pytest.mark.parametrize(
    ("in_file", "flags", "key", "expected"),
    [
        ('arch = ["sm_80"]', ["--arch", "sm_90"], "arch", ("sm_90",)),
        ('kernels = ["a"]', ["--kernel", "b"], "kernels", ("b",)),
        ('include-dirs = ["a"]', ["-I", "b"], "include-dirs", ("b", "a")),
        ('include = ["a"]', ["--include", "b"], "include", ("b",)),
        ('exclude = ["a"]', ["--exclude", "b"], "exclude", ("a", "b")),
        ('signatures = ["a()"]', ["--signature", "b()"], "signatures", ("b()", "a()")),
        ('defines = ["A"]', ["-D", "B"], "defines", ("A", "B")),
        ('instantiate = ["a<1>"]', ["--instantiate", "b<1>"], "instantiate", ("a<1>", "b<1>")),
        ('nvcc-args = ["-G"]', ["--nvcc-arg", "-b"], "nvcc-args", ("-G", "-b")),
        ("maxrregcount = 40", ["--maxrregcount", "32"], "maxrregcount", 32),
        ("timeout = 0.5", ["--timeout", "2"], "timeout", 2.0),
        ('frontend = "nvcc"', ["--frontend", "auto"], "frontend", "auto"),
        ("use-fast-math = true", ["--no-use-fast-math"], "use-fast-math", False),
        ("cache = false", ["--cache"], "cache", "lmemscope"),
        ("tolerance = 16", ["--tolerance", "0"], "tolerance", 0),
        ('baseline = "a.json"', ["--baseline", "b.json"], "baseline", "b.json"),
    ],
)
def test_a_flag_beside_the_file(
    in_file: str, flags: list[str], key: str, expected: object, here: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("LMEMSCOPE_CACHE_DIR", "/cache/lmemscope")
    Path("lmemscope.toml").write_text(in_file)
    found = value_of(flagged(*flags), named(OPTIONS, key))
    if key == "include-dirs":
        found = tuple(os.path.basename(path) for path in found)
    elif key == "cache":
        found = os.path.basename(found)
    assert found == expected


def test_flags_of_the_gate_make_one_more_limit(here: Path) -> None:
    Path("lmemscope.toml").write_text('[[limits]]\nkernel = "a*"\nmax-frame = 0\n')
    limits = flagged("--max-frame", "8", "--forbid", "volatile").policy.limits
    assert limits == (Limit("a*", max_frame=0), Limit(max_frame=8, forbid=("volatile",)))
    assert flagged().policy.limits == limits[:1]


def test_paths_of_the_file_start_at_the_file(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "sub").mkdir()
    (here / "pyproject.toml").write_text(
        '[tool.lmemscope]\nbaseline = "b.json"\ninclude-dirs = ["inc"]\ntoolkit = "sub"\n'
        '[[tool.lmemscope.allowances]]\ncause = "volatile"\nreason = "r"\nexpires = 2027-06-30\n'
    )
    monkeypatch.chdir(here / "sub")
    found = flagged("-I", "own", "--trust-build")
    assert found.baseline == str(here / "b.json")
    assert found.settings.options.include_dirs == (str(here / "sub/own"), str(here / "inc"))
    assert found.settings.toolkit == str(here / "sub")
    assert found.settings.root == str(here)
    (allowance,) = found.policy.allowances
    assert (allowance.kernel, allowance.bytes, allowance.expires) == ("*", None, date(2027, 6, 30))
    assert allowance.place == found.file == str(here / "pyproject.toml")


# --- mistakes of a hurried user -------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("maxregcount = 3", "unknown key maxregcount", "did you mean maxrregcount?"),
        ("use_fast_math = true", "unknown key use_fast_math", "did you mean use-fast-math?"),
        ("kernel = 'a'", "unknown key kernel", "did you mean kernels?"),
        ("max-frame = 0", "unknown key max-frame", "in a table of the list limits"),
        ("expires = 2027-01-01", "unknown key expires", "in a table of the list allowances"),
        ("run-python = true", "unknown key run-python", "--run-python"),
        ("zzz = 1", "unknown key zzz", "keys: allowances, arch,"),
        ("[tool.lmemscope]\narch = []", "unknown key tool", "at the top"),
        ("[limits]\nmax-frame = 0", "limits is a table", "two brackets"),
        ("[[limits]]\nmax-fame = 0", "limits, table 1: unknown key max-fame", "mean max-frame?"),
        ("[[limits]]\nforbid = ['spill']", 'holds "spill"', "did you mean register-spill?"),
        ("[[allowances]]\nreason = 'r'", "allowances, table 1: no cause", "takes a cause"),
        ("[[allowances]]\ncause = 'volatile'", "allowances, table 1: no reason", "why"),
        ("jobs = ", "cannot be read", None),
        ("a = " + "[" * 5000, "cannot be read", None),
    ],
)
def test_mistakes_are_named_with_a_way_out(
    text: str, message: str, hint: str | None, here: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        written(text)
    assert str(here / "lmemscope.toml") in caught.value.message
    assert message in caught.value.message
    assert (hint or "") in (caught.value.hint or "")


@pytest.mark.parametrize("text", ["tool = 3", "tool.lmemscope = 3", "x = 1"])
def test_a_pyproject_without_our_table(text: str, here: Path) -> None:
    (here / "pyproject.toml").write_text(text)
    if "lmemscope" in text:
        with pytest.raises(UsageError, match="no table"):
            file.read()
    else:
        assert file.read().path != str(here / "pyproject.toml")


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ('dynamic-index "r" until 2027-13-45', 'expires is "2027-13-45", not a date'),
        ('nonsense "r"', 'cause is "nonsense", not a cause'),
        ('dynamic-index " "', 'reason is " ", not text'),
        (f'dynamic-index {"9" * 5000} "r"', "bytes is "),
    ],
)
def test_a_comment_is_checked_by_the_same_rows(argument: str, said: str) -> None:
    directive = KernelDirective("allow", argument, 4, "k")
    unit = UnitReport(
        input="a.cu",
        frontend="nvrtc",
        arch="sm_90",
        options=(),
        failure=None,
        directives=(directive,),
        gaps=(),
        kernels=(),
    )
    with pytest.raises(UsageError) as caught:
        policy.from_sources([unit])
    assert caught.value.message.startswith(f"a.cu:4: {said}")


# --- names of kernels and exit codes --------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        ("rm", True), ("ns::rm", True), ("rm<*", True), ("ns::rm<32>", True), ("*rm<32>", True),
        ("_ZN2ns2rm*", True), ("void ns::rm*", True), ("r", False), ("ns", False),
        ("rm<64>", False),
    ],
)  # fmt: skip
def test_one_matcher_for_flags_and_limits(pattern: str, meant: bool) -> None:
    name, demangled = "_ZN2ns2rmILi32EEEvPf", "void ns::rm<(int)32>(float*)"
    assert matches([pattern], name, demangled) == meant
    assert matches([], name, demangled)
    assert spellings(name, demangled) == (name, demangled, "ns::rm<32>", "rm<32>", "ns::rm", "rm")


def test_a_name_means_its_kernel_though_it_is_a_glob() -> None:
    name, demangled = "_Z6invertPA4_m", "invert(unsigned long (*) [4])"
    assert matches([demangled], name, demangled)
    assert matches([demangled.replace(", ", ",")], name, demangled)
    assert matches(["invert(*"], name, demangled)
    assert not matches(["invert(unsigned long (*) [5])"], name, demangled)


@pytest.mark.parametrize(("error", "code"), [(UsageError, 2), (InputError, 3), (CompileError, 3)])
def test_the_exit_code_belongs_to_the_error(error: Callable[..., Any], code: int) -> None:
    assert error("stage", "message").exit_code == code


@pytest.mark.parametrize("parameter", scan_command.params, ids=lambda one: one.name)
def test_what_nobody_gave_is_not_read_before_click_says_where_it_is_from(
    parameter: click.Parameter,
) -> None:
    # As with click 8.4.0: callbacks run first.
    context = click.Context(scan_command)
    if parameter.callback is not None and not isinstance(parameter, click.Argument):
        assert parameter.callback(context, parameter, None) is None


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--ptx", "--link"], "--link"),
        (["--sass", "--lto", "--executor", "dask://h:1"], "--lto, --executor"),
        (["--log", "--kernel", "a*"], "--kernel"),
    ],
)
def test_dump_refuses_the_flags_that_it_ignores(
    arguments: list[str], named: str, here: Path
) -> None:
    # click keeps the help option of a command as it was first asked for.
    names = {"help_option_names": ["-h", "--help"]}
    result = CliRunner().invoke(dump_command, ["a.cu", *arguments], **names)
    assert isinstance(result.exception, UsageError)
    assert result.exception.message.endswith(f"does not take {named}")


@pytest.mark.parametrize("row", list(rows_of(CompileOptions)), ids=lambda row: row.key)
def test_an_option_of_a_build_and_the_users(row: Row) -> None:
    """Lists are joined as a flag is with the file's; else the user's wins."""
    value = GOOD[row.key][2]
    other = ("other",) if isinstance(value, tuple) else value
    build = replace(CompileOptions(), **{row.field: value})
    own = replace(CompileOptions(), **{row.field: other})
    assert getattr(combined(build, CompileOptions()), row.field) == value
    assert getattr(combined(None, own), row.field) == other
    if isinstance(value, tuple):
        joined = (*other, *value) if row.merge == "before" else (*value, *other)
        assert getattr(combined(build, own), row.field) == joined
