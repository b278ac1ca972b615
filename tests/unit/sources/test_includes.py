"""Which includes are seen in a text: every spelling that a compiler takes, or none is trusted."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from lmemscope.files import UnreadableFileError
from lmemscope.lowering import store as stores
from lmemscope.model import CompileOptions, Unit
from lmemscope.sources import includes
from lmemscope.sources.include_macros import HeaderMacros, Use
from lmemscope.sources.unlike import asked_of_nvcc

SPELLINGS = {
    "plain": b'#include "x.h"',
    "angled": b"#include <x.h>",
    "no blank": b'#include"x.h"',
    "indented": b' \t#  include  "x.h"',
    "form feeds and null characters": b'\f#\v\0include\f"x.h"',
    "byte order mark": b'\xef\xbb\xbf#include "x.h"',
    "digraph": b'%:include "x.h"',
    "trigraph": b'??=include "x.h"',
    "comment before": b'/* x */ #include "x.h"',
    "comments before": b'/* x *//**/ /***/#include "x.h"',
    "comment from earlier lines": b'/* x\n y */ #include "x.h"',
    "comment after the hash": b'#/**/include "x.h"',
    "comments after the hash": b'# /* a /* b */ /***/ include "x.h"',
    "comment that looks closed": b'#/*/ include <y.h> */include "x.h"',
    "comment of several lines after the hash": b'#/*\n*/include "x.h"',
    "comment before the name": b"#include/* x */<x.h>",
    "comment of several lines before the name": b'#include /*\n\n*/ "x.h"',
    "splice after the hash": b'#\\\ninclude "x.h"',
    "splice in the word": b'#incl\\\nude "x.h"',
    "splices in the word": b'#i\\\nn\\\n\\\nclude "x.h"',
    "splice before the name": b'#include \\\n "x.h"',
    "splice in the name": b'#include "x\\\n.h"',
    "splice in a digraph": b'%\\\n:include "x.h"',
    "splice in a comment": b'#/\\\n**\\\n/include "x.h"',
    "splice of two characters": b'#incl\\\r\nude "x.h"',
    "splice with blanks": b'#incl\\ \t\nude "x.h"',
    "splice by trigraph": b'#incl??/\nude "x.h"',
    "all at once": b'/*\n*/??=/*??/\n*/inc\\\nlude/**/\\ \n"x.h"',
    "carriage returns": b'#pragma once\r#include "x.h"\rint a;',
    "include_next": b"#include_next <x.h>",
    "import": b'#import "x.h"',
    "embed": b'#embed "x.h"',
    "after a splice that some compilers do not take": b'// C:\\ \n#include "x.h"',
    "after a trigraph that some compilers do not take": b'// what??/\n#include "x.h"',
    "condition": b"#if __has_include(<x.h>)\n#endif",
    "condition with comments": b"#if __has_include/**/ ( /* x */ \\\n<x.h>)\n#endif",
}


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""], ids=["newline", "carriage return", "end"])
@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS)
def test_an_edited_header_is_another_key_however_it_is_included(
    tmp_path: Path, text: bytes, end: bytes
) -> None:
    source, header = tmp_path / "k.cu", tmp_path / "include" / "x.h"
    header.parent.mkdir()
    header.write_text("#define N 1\n")
    source.write_bytes(text + end)
    options = CompileOptions(include_dirs=(str(header.parent),))
    unit = Unit("k.cu", str(source), "auto", "sm_90", options)
    before = stores.slot_for(str(tmp_path), unit)
    assert before is not None
    header.write_text("#define N 2\n")
    assert stores.slot_for(str(tmp_path), unit) != before


def test_the_next_header_of_a_name_is_followed_too(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.h").write_text("#include_next <x.h>\n")
    (tmp_path / "k.cu").write_text("#include <x.h>\n")
    directories = (str(tmp_path / "first"), str(tmp_path / "second"))
    read = includes.closure(str(tmp_path / "k.cu"), CompileOptions(include_dirs=directories))
    assert {f"{directory}/x.h" for directory in directories} <= set(read.files)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("#include <x.h>", "first/x.h"),
        ('#include "x.h"', "x.h"),
        ("#include <own.h>", None),
        ('#include "own.h"', "own.h"),
        ('#include "other.h"', "first/other.h"),
    ],
)
def test_only_quoted_names_are_looked_up_beside_the_source(
    tmp_path: Path, line: str, expected: str | None
) -> None:
    (tmp_path / "first").mkdir()
    for name in ("x.h", "own.h", "first/x.h", "first/other.h"):
        (tmp_path / name).write_text("\n")
    (tmp_path / "k.cu").write_text(f"{line}\n")
    options = CompileOptions(include_dirs=(str(tmp_path / "first"),))
    _, *headers = includes.closure(str(tmp_path / "k.cu"), options).files
    assert headers == ([] if expected is None else [str(tmp_path / expected)])


PASTES = b"#define PASTE(a, b) PASTE2(a, b)\n#define PASTE2(a, b) a##b\n"


@pytest.mark.parametrize(
    "text",
    [
        b"#include H\n",
        b"%:include H\n",
        b"??=include H\n",
        b"/* x */ #/**/include H\n",
        b"/* x\n */ #include H\n",
        b"#inc\\\nlude\\\n H\n",
        b"#inc??/\nlude H\n",
        b"#include /* never closed",
        b'#include "x.h\n',
        b"#include",
        b"\xef\xbb\xbf#include H\n",
        b"#pragma once\r#include H\r",
        PASTES + b"#if PASTE(__has_, include)(H)\n#endif\n",
        PASTES + b"#define PART __has\n#define ALL PASTE(PART, _include)\n#if ALL(H)\n#endif\n",
        PASTES + b"#define HAS(x) __has_include(x)\n#if PASTE(HA, S)(H)\n#endif\n",
        PASTES + b"#if PASTE(__TIM, E__)[0]\n#endif\n",
        b"#define LATE() P##ART\n#define PART A##S\n#define AS __has_\n#define B(x) x##include\n"
        b"#if B(LATE())(H)\n#endif\n",
    ],
)
def test_what_names_no_header_is_not_trusted(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "k.cu").write_bytes(text)
    assert includes.closure(str(tmp_path / "k.cu"), CompileOptions()).computed


@pytest.mark.parametrize(
    "text",
    [
        b"// #include what you use\n",
        b"/* the lines\n * #include FOO\n */\n",
        b'const char *s = "#include";\n',
        b"#define INCLUDED #include\n",
        b"#included H\n",
        b"int a = b %include;\n",
        b"#/* never closed include H\n",
        b"// joined to the next line \\\n#include H\n",
        b"#ifdef __has_include\n#define HAS(x) __has_include(x)\n#endif\n",
        PASTES + b"#define USE_A 1\n#if PASTE(USE_, A)\n#endif\n",
        PASTES + b"#ifdef __has_include\n#endif\n#define F(x) USE_##x\n#if F(A)\n#endif\n",
    ],
)
def test_prose_is_no_include(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "k.cu").write_bytes(text)
    read = includes.closure(str(tmp_path / "k.cu"), CompileOptions())
    assert (read.computed, read.missing) == (False, frozenset())


def test_comments_that_do_not_end_are_searched_once(tmp_path: Path) -> None:
    # Searched anew for each hash, this is ten thousand times as much work.
    (tmp_path / "k.cu").write_bytes(b"#/*" * 100_000 + b"\n#include <x.h>\n")
    read = includes.closure(str(tmp_path / "k.cu"), CompileOptions())
    assert read.missing == {"x.h"}


DEFINITIONS = {
    "quoted": b'#define H "x.h"',
    "angled": b"#define H <x.h>",
    "by another": b"#define H OTHER\n#define OTHER <x.h>",
    "with parentheses": b"#define H() <x.h>",
    "without a blank": b'#define H"x.h"',
    "in spite of others": b'#define H "nowhere.h"\n#undef H\n#define H <x.h>\n#define H 4',
    "in a branch": b"#if 0\n#define H <x.h>\n#endif",
    "digraph": b"%:define H <x.h>",
    "trigraph": b"??=define H <x.h>",
    "comments": b"/* a\n */ # /**/ define /*\n*/ H /* b\n */ <x.h> // c",
    "splices": b'#def\\\nine H\\\n "x\\\n.h"',
    "header": b'#include "defines.h"',
    "header that a macro brings": b'#define MORE "defines.h"\n#include MORE',
}


def reads(tmp_path: Path, text: bytes, options: CompileOptions) -> set[str]:
    source, include = tmp_path / "k.cu", tmp_path / "include"
    include.mkdir(exist_ok=True)
    (include / "x.h").write_text("")
    (include / "defines.h").write_text("#define H <x.h>\n")
    source.write_bytes(text)
    options = replace(options, include_dirs=(str(include),))
    found = includes.closure(str(source), options)
    assert found.computed
    return {Path(path).name for path in found.files}


@pytest.mark.parametrize("use", [b"#include H", b"# include /**/ H // x", b"#include H ()"])
@pytest.mark.parametrize("text", DEFINITIONS.values(), ids=DEFINITIONS)
def test_what_a_macro_stands_for_is_read(tmp_path: Path, text: bytes, use: bytes) -> None:
    for whole in (b"%b\n%b\n" % (text, use), b"%b\n%b\n" % (use, text)):
        assert "x.h" in reads(tmp_path, whole, CompileOptions())


@pytest.mark.parametrize(
    "options",
    [
        CompileOptions(defines=("H=<x.h>",)),
        CompileOptions(defines=('H="x.h"',)),
        CompileOptions(defines=('H=\\"x.h\\"',)),
        CompileOptions(nvrtc_args=('-DH="x.h"',)),
        CompileOptions(nvrtc_args=("-D", "H=<x.h>")),
        CompileOptions(nvcc_args=("--define-macro=H=<x.h>",)),
    ],
    ids=str,
)
def test_what_an_option_says_a_macro_stands_for_is_read(
    tmp_path: Path, options: CompileOptions
) -> None:
    assert "x.h" in reads(tmp_path, b"#include H\n", options)


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_macro_that_names_no_file_is_an_error(tmp_path: Path, kind: str) -> None:
    odd = tmp_path / "odd.h"
    os.mkfifo(odd)
    name = "odd.h" if kind == "pipe" else "/dev/zero"
    text = b'#include H\n#define H OTHER\n#define OTHER "%b"\n' % name.encode()
    with pytest.raises(UnreadableFileError, match="not a regular file"):
        reads(tmp_path, text, CompileOptions())
    with pytest.raises(UnreadableFileError, match="not a regular file"):
        reads(tmp_path, b"#include H\n", CompileOptions(defines=(f'H="{name}"',)))
    # A macro that no include names may stand for anything.
    harmless = text.replace(b"include H", b"include NOTHING")
    assert reads(tmp_path, harmless, CompileOptions()) == {"k.cu"}


def test_macros_in_a_ring_and_by_the_thousand(tmp_path: Path) -> None:
    assert reads(tmp_path, b"#include A\n#define A B\n#define B A\n", CompileOptions())
    uses = b"".join(b"#define A%d B\n#include A%d\n" % (n, n) for n in range(200))
    some = b"".join(b"#define B <%d.h>\n" % number for number in range(600))
    with pytest.raises(UnreadableFileError, match="stand for too many headers"):
        reads(tmp_path, uses + some, CompileOptions())


def test_headers_that_define_one_another_are_given_once(tmp_path: Path) -> None:
    for number in range(200):
        text = f'#define N{number + 1} "h{number + 1}.h"\n#include N{number + 1}\n'
        (tmp_path / f"h{number}.h").write_text(text)
    found = reads(tmp_path, b'#define N0 "h0.h"\n#include N0\n', CompileOptions())
    assert len(found) == 201


def test_uses_and_definitions_meet_in_any_order() -> None:
    use = Use("k.cu", b"A", False)
    steps: list[Callable[[HeaderMacros], None]] = [
        lambda macros: macros.use(use),
        lambda macros: macros.define(b"A", b"B"),
        lambda macros: macros.define(b"B", b"A"),
        lambda macros: macros.define(b"B", ("x.h", True)),
    ]
    for order in itertools.permutations(steps):
        macros = HeaderMacros()
        given = []
        for step in order * 2:
            step(macros)
            given += list(macros.new())
        assert given == [("k.cu", ("x.h", True, False))]


def test_a_directory_that_is_a_link(tmp_path: Path) -> None:
    """Behind a link, ``..`` is where that leads, as for compilers."""
    (tmp_path / "real" / "sub").mkdir(parents=True)
    (tmp_path / "real" / "k.inc").write_text("// there\n")
    (tmp_path / "k.inc").write_text("// here\n")
    (tmp_path / "link").symlink_to("real/sub")
    source = tmp_path / "a.cu"
    source.write_text('#include "link/../k.inc"\n')
    found = includes.closure(str(source), CompileOptions())
    assert found.files == (str(source), str(tmp_path / "real" / "k.inc"))


ATTRIBUTE = "an attribute that NVRTC leaves out"
STRING = "a string that NVRTC encodes otherwise"
POWER = "pow, which NVRTC multiplies out"
CLASSIFIED = "a question to a number that NVRTC answers with an int"
VIRTUAL = "virtual functions, whose tables NVRTC names by other symbols"


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("#ifdef __CUDACC_RTC__\n#endif\n", "__CUDACC_RTC__"),
        ("  #  if defined(A) && !defined(__GNUC__)\n#endif\n", "__GNUC__"),
        ('#include "x.h"\n', "__has_include"),
        ("%: /**/ ifndef __linux__\n#endif\n", "__linux__"),
        ("#/* x */ elif \\\n defined __NV\\\nCC__\n", "__NVCC__"),
        ("#ifdef __CUDA_ARCH__\n#endif\n// __GNUC__\nint __GNUC__x;\n", None),
        ("struct A { char a; int b; } __attribute__((packed));\n", ATTRIBUTE),
        ("typedef struct { char a; }\n__align__(32) A;\n", ATTRIBUTE),
        ("struct [[gnu::packed]] A { char a; int b; };\n", ATTRIBUTE),
        ("struct A { [[no_unique_address]] B b; };\n", ATTRIBUTE),
        ("#define PACKED __attribute__((packed))\nstruct A { int b; } PACKED;\n", ATTRIBUTE),
        ('const int size = sizeof(u8"\u00e9");\n', STRING),
        ('const int size = sizeof("\\u00e9");\n', STRING),
        ("float cube(float x) { return std::pow(x, 3); }\n", POWER),
        ("bool both(float x, float y) { return signbit(x) == signbit(y); }\n", CLASSIFIED),
        ("float shown(float x) { return finite(x) ? isinfinite : 0; }\n", "finite"),
        ("float shown(float x) { return is_finite(x) ? isinfinite : 0; }\n", None),
        ("struct Shape { virtual float area() = 0; };\n", VIRTUAL),
        ("float root(float x, P *p) { return powf(x, 0.5f) + p->pow(2); }\n", None),
        ("struct __attribute__((packed)) A { int b __attribute__((aligned(8))); };\n", None),
        ('const char *text = "\u00e9"; auto *wide = L"e";\n', None),
    ],
)
def test_conditions_that_nvcc_decides_otherwise(
    tmp_path: Path, text: str, asked: str | None
) -> None:
    (tmp_path / "x.h").write_text("#if __has_include(<vector>)\n#endif\n")
    source = tmp_path / "a.cu"
    source.write_text(text)
    options = CompileOptions()
    assert asked_of_nvcc(includes.closure(str(source), options), options) == asked


def test_nothing_is_found_by_way_of_a_directory_that_is_not_there(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text('#include "s/../n.h"\n')
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "n.h").write_text("\n")
    (tmp_path / "two" / "s").mkdir()
    options = CompileOptions(include_dirs=(f"{tmp_path}/one", f"{tmp_path}/two"))
    read = includes.closure(str(source), options)
    assert read.files == (str(source), str(tmp_path / "two" / "n.h"))
    assert str(tmp_path / "one" / "s") in read.crossed
    (tmp_path / "one" / "s").mkdir()
    assert includes.closure(str(source), options).files[1] == str(tmp_path / "one" / "n.h")


@pytest.mark.parametrize("last", ["", '#define NAME "d.h"\n#include NAME\n'])
def test_the_users_files_are_those_of_the_closure(tmp_path: Path, last: str) -> None:
    texts = {
        "a.cpp": '#include "sub/b.h"\n#include <stdio.h>\n#include "gone.h"\n' + last,
        "sub/b.h": '#include "c.h"\n#include "../a.cpp"\n',
        "sub/c.h": "int c;\n",
        "d.h": "int d;\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = includes.user_files(str(tmp_path / "a.cpp"))
    assert len(found) == 3 + bool(last)
    assert set(found) == set(includes.closure(str(tmp_path / "a.cpp"), CompileOptions()).files)
