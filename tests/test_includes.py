"""Which includes are seen in a text: every spelling that a compiler takes, or none is trusted."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.lowering import store as stores
from lmemscope.model import CompileOptions, Unit
from lmemscope.sources import includes

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
