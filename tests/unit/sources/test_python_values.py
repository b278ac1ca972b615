"""What names and expressions of a Python file stand for, without running it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from lmemscope.sources.located_text import Text
from lmemscope.sources.python_followed import Met, follow

HEAD = "import os, string, textwrap\nfrom pathlib import Path\nimport maker\n"
FIRST = HEAD.count("\n")


def met(source: str, path: str = "/src/t.py") -> list[Met]:
    """Calls of ``maker.make`` as they are met."""
    tree = ast.parse(HEAD + source)
    kinds = {
        node: "made"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "maker.make"
    }
    kind_of = {"maker.make": "made"}.get
    return list(follow(tree, HEAD + source, path, kinds, kind_of).calls)


def made(source: str, path: str = "/src/t.py") -> list[str | None]:
    """The strings that are given to ``maker.make``; None of what is not known."""
    return [
        one.arguments[0].value if one.arguments and isinstance(one.arguments[0], Text) else None
        for one in met(source, path)
    ]


def reasons(source: str) -> list[str]:
    return [one.arguments[0].reason for one in met(source)]


@pytest.mark.parametrize(
    ("source", "value", "lines"),
    [
        ("wanted = 'a'", "a", [1]),
        ("wanted = 'a\\nb'", "a\nb", [1, 1]),
        ("wanted = '''a\nb\n'''", "a\nb\n", [1, 2, 3]),
        ("wanted = r'''\na\\n\nb'''", "\na\\n\nb", [1, 2, 3]),
        ("wanted = '''a\\\nb\nc'''", "ab\nc", [1, 3]),
        ("wanted = ('a\\n'  # one\n  'b\\n'\n  'c')", "a\nb\nc", [1, 2, 3]),
        ("X = '''x\ny\n'''\nwanted = X + 'z'", "x\ny\nz", [1, 2, 4]),
        ("N = 4\nwanted = f'''a\n{N}{{}}\nb'''", "a\n4{}\nb", [2, 3, 4]),
        ("N = 4\nwanted = f'{N // 2 - 1}'", "1", [2]),
        ("P = 'p\\nq'\nwanted = f'''a\n{P}\nb'''", "a\np\nq\nb", [2, 3, 1, 4]),
        ("wanted = '''\n  a\n  b'''.strip()", "a\n  b", [2, 3]),
        ("wanted = textwrap.dedent('''\n  a\n  b''')", "\na\nb", [1, 2, 3]),
        ("wanted = '''a%d\nb''' % 3", "a3\nb", [1, 2]),
        ("wanted = '''a\n%(x)s\nb''' % {'x': 'p\\nq'}", "a\np\nq\nb", [1, 2, 3, 3]),
        ("wanted = '''a {}\n{{{n}}}\nb'''.format(3, n='q')", "a 3\n{q}\nb", [1, 2, 3]),
        ("wanted = string.Template('''a\n$t ${t}x''').substitute(t='q')", "a\nq qx", [1, 2]),
        ("wanted = '''a\nTYPE\nb'''.replace('TYPE', 'float')", "a\nfloat\nb", [1, 2, 3]),
        ("wanted = 'x' * 3", "xxx", [1]),
        ("N = 1.5\nwanted = f'{N:.2f}'", "1.50", [2]),
        ("N = 1\nN += 1\nwanted = f'{N}'", "2", [3]),
        ("wanted = ', '.join(f'int a{i}' for i in range(2))", "int a0, int a1", [1]),
        ("wanted = {'a': 'x'}['a'] + ('p', 'q')[1]", "xq", [1]),
        ("P = ['a']\nP.append('b')\nwanted = ''.join(P)", "ab", [1]),
        ("def f(t='x'):\n  if t == 'x':\n    return 'y'\n  return t\nwanted = f()", "y", [3]),
    ],
)
def test_strings_and_their_lines(source: str, value: str, lines: list[int]) -> None:
    (one,) = met(f"{source}\nmaker.make(wanted)")
    text = one.arguments[0]
    assert text.value == value
    assert [line - FIRST for _, line in text.places] == lines


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("maker.make(f())", "`f`"),
        ("maker.make(os.environ['X'])", "`os.environ['X']`"),
        ("def f(N):\n  maker.make(f'{N}')", "`N`, a parameter of `f`"),
        ("def f(N):\n  maker.make('%d' % N)", "`N`, a parameter of `f`"),
        ("maker.make(open('no/where.cu').read())", "no/where.cu"),
        ("maker.make('a' * 10**9)", "10 ** 9"),
        ("maker.make(f'{1:1000000000}')", "1000000000"),
        ("N = 1\ndef f():\n  global N\n  N = 2\ndef g():\n  maker.make(f'{N}')", "`N`"),
        ("if os.environ['X']:\n  a = 'x'\nelse:\n  a = 'y'\nmaker.make(a)", "`a`"),
        ("a = ''\nfor x in os.listdir():\n  a += 'x'\nmaker.make(a)", "os.listdir()"),
    ],
)
def test_what_only_running_would_tell_names_its_reason(source: str, reason: str) -> None:
    (found,) = reasons(source)
    assert reason in found


def test_a_literal_list_gives_several_variants() -> None:
    assert made("for t in ('int', 'float'):\n  maker.make(f'{t} a;')") == ["int a;", "float a;"]


def test_calls_with_literals_decide_a_functions_parameters() -> None:
    source = "def f(t):\n  return maker.make('%s a;' % t)\nf('int')\nf('char')"
    assert made(source) == ["int a;", "char a;"]


def test_each_way_through_an_unknown_condition_is_a_variant() -> None:
    source = "def f(n):\n  a = 'w'\n  if n > 2:\n    a = 'z'\n  maker.make(a)"
    assert made(source) == ["z", "w"]


def test_a_condition_is_answered_once_on_each_way() -> None:
    source = (
        "def f(n):\n  a = b = ''\n  if n:\n    a = 'x'\n  if n:\n    b = 'y'\n  maker.make(a + b)"
    )
    assert made(source) == ["xy", ""]


def test_one_unknown_program_leaves_the_others() -> None:
    assert made("maker.make(f())\nmaker.make('a')") == [None, "a"]


@pytest.mark.parametrize(
    "expression",
    [
        "open('k.cu').read()",
        "Path('k.cu').read_text()",
        "(Path(__file__).parent / 'k.cu').read_text()",
        "Path(__file__).with_name('k.cu').read_text()",
        "Path(__file__).resolve().parent.joinpath('k.cu').read_text()",
        "open(os.path.join(os.path.dirname(__file__), 'k.cu')).read()",
        "f'{open(os.path.dirname(os.path.abspath(__file__)) + chr_ + \"k.cu\").read()}'",
    ],
)
def test_files_that_are_read(tmp_path: Path, expression: str) -> None:
    (tmp_path / "k.cu").write_text("a\nb")
    (one,) = met(f"chr_ = '/'\nmaker.make({expression})", str(tmp_path / "t.py"))
    assert one.arguments[0].value == "a\nb"
    if not expression.startswith("f'"):
        assert one.arguments[0].places == ((str(tmp_path / "k.cu"), 1), (str(tmp_path / "k.cu"), 2))


def test_what_is_no_source_is_read_below_the_project_only(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "sub").mkdir(parents=True)
    (project / ".git").mkdir()
    (tmp_path / "secret").write_text("s")
    (tmp_path / "other.cuh").write_text("o")
    (project / "kernel.in").write_text("k")
    (project / "link").symlink_to(tmp_path / "secret")
    script = str(project / "sub" / "t.py")
    reads = ("../kernel.in", "../../other.cuh", "../../secret", "../link", str(tmp_path / "secret"))
    source = "\n".join(f"maker.make(open({path!r}).read())" for path in reads)
    assert made(source, script) == ["k", "o", None, None, None]
    unknown = [one.arguments[0].reason for one in met(source, script)[2:]]
    assert all("no file of the project" in reason for reason in unknown)


def test_a_file_opened_by_with(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("a")
    source = "with open('k.cu') as f:\n    maker.make(f.read())"
    assert made(source, str(tmp_path / "t.py")) == ["a"]


def test_names_of_the_users_own_modules(tmp_path: Path) -> None:
    (tmp_path / "types_.py").write_text(
        "NAMES = ['int', 'char']\ndef spell(t):\n    return t + ' a;'\n"
    )
    source = "from types_ import NAMES, spell\nfor t in NAMES:\n    maker.make(spell(t))"
    assert made(source, str(tmp_path / "t.py")) == ["int a;", "char a;"]


def test_nothing_of_a_followed_file_is_run(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("open('ran', 'w').write('x')\nA = 'a'\n")
    source = "from other import A\nopen('ran', 'w').write('x')\nmaker.make(A)"
    assert made(source, str(tmp_path / "t.py")) == ["a"]
    assert not (tmp_path / "ran").exists()


def test_a_package_that_imports_its_own_modules_is_followed(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("from package import part, config\n")
    (tmp_path / "package" / "config.py").write_text("A = 'a'\n")
    file = tmp_path / "package" / "part.py"
    source = "from package import config\nmaker.make(config.A)\nif config.B:\n    maker.make('b')\n"
    assert made(source, str(file)) == ["a", "b"]


def test_a_name_that_only_one_way_binds_is_its_value_behind_it() -> None:
    assert made("if wanted():\n    A = 'a'\nmaker.make(A)") == ["a"]
    assert made("if wanted():\n    A = 'a'\nelse:\n    A = 'b'\nmaker.make(A)") == [None]


@pytest.mark.parametrize(
    "source",
    [
        "A = ('x ' * 2000000).split()[0]",
        "A = ('\\n' * 4000000).splitlines()[0]",
        "A = ('a' * 4000000).replace('a', 'b')",
        "A = ('{0:' * 5000 + '}' * 5000).format(1)",
        "L = []\nfor i in range(40):\n    L = [L, L]\nA = 'x' if L == [L, 1] else 'y'",
        "L = []\nfor i in range(40):\n    M = []\n    M.append(L)\n    M.append(L)\n    L = M\n"
        "A = '%s' % (L,)",
        "L = [1]\nL.append(L)\nA = 'x' if L == [1, L, L] else 'y'",
    ],
)
def test_what_would_take_long_is_not_known_and_leaves_the_others(source: str) -> None:
    assert made(f"{source}\nmaker.make(A)\nmaker.make('b')") == [None, "b"]


def test_whether_a_fraction_is_in_a_range_needs_no_walk_through_it() -> None:
    source = "R = range(10 ** 15)\nmaker.make('x' if {} in R else 'y')"
    assert made(source.format("1.5")) == ["y"]
    assert made(source.format("2.0")) == ["x"]


def test_what_is_beyond_the_limits_is_said_as_the_reason() -> None:
    (only,) = met("X = 'a'\n" + "X = X + X\n" * 60 + "maker.make(X)")
    assert only.unknown is not None
    assert "more than is followed" in only.unknown.reason


def test_parts_of_a_split_text_keep_their_lines() -> None:
    (only,) = met("X = '''a\n b, c\nd,e'''\nmaker.make(X.split(',')[1])")
    assert only.arguments[0].value == " c\nd"
    assert [line for _, line in only.arguments[0].places] == [FIRST + 2, FIRST + 3]
