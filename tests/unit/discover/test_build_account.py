"""What builds decide of inputs is said, and so is what of them is not used."""

from __future__ import annotations

import json
from pathlib import Path

from lmemscope.discover.walk import Globs, discover
from lmemscope.model import Gap

KERNEL = "__global__ void k(float *o) { o[0] = 1; }\n"


def write_database(directory: Path, *commands: tuple[Path, str]) -> None:
    directory.mkdir(exist_ok=True)
    entries = [
        {"directory": str(directory), "file": str(file), "command": f"nvcc {words} -c {file}"}
        for file, words in commands
    ]
    (directory / "compile_commands.json").write_text(json.dumps(entries))


def gaps(stage: str, *paths: Path) -> list[Gap]:
    found = discover([str(one) for one in paths], Globs("/"))
    return [gap for gap in found.gaps if gap.stage == stage]


def source(directory: Path, text: str = KERNEL, name: str = "k.cu") -> Path:
    directory.mkdir(exist_ok=True)
    file = directory / name
    file.write_text(text)
    return file


def test_every_option_of_a_build_is_said(tmp_path: Path) -> None:
    file = source(tmp_path)
    (tmp_path / "x").mkdir()
    (tmp_path / "p.h").write_text("")
    words = "-DA -DB=2 -std=c++14 -I x -include p.h -arch=sm_80 -use_fast_math -maxrregcount=32"
    write_database(tmp_path, (file, words))
    (gap,) = gaps("build", tmp_path)
    assert gap.kind == "note"
    for word in ("A, B=2", "c++14", "/x", "p.h", "sm_80", "fast_math", "maxrregcount=32"):
        assert word in gap.reason
    write_database(tmp_path, (file, ""))
    (gap,) = gaps("build", file)
    assert "no options" in gap.reason


def test_a_database_that_is_not_used_is_named_if_it_compiles_otherwise(tmp_path: Path) -> None:
    file = source(tmp_path / "src")
    write_database(tmp_path / "build", (file, "-DBIG"))
    write_database(tmp_path / "src", (file, ""))
    for path in (tmp_path / "src", file):
        _, other = gaps("build", path)
        assert other.kind == "note"
        assert "build/compile_commands.json" in other.reason
        assert "BIG" in other.reason
    write_database(tmp_path / "build", (file, ""))
    assert len(gaps("build", file)) == 1
    # Of a directory, the database that lies deeper is not used.
    (tmp_path / "build" / "compile_commands.json").unlink()
    write_database(tmp_path / "src", (file, "-DSMALL"))
    source(tmp_path, name="a.cu")
    write_database(tmp_path / "build", (tmp_path / "a.cu", ""))
    _, other = gaps("build", tmp_path)
    assert "src/compile_commands.json" in other.reason


def test_a_source_that_only_another_includes_is_not_looked_at_as_it_is_built(
    tmp_path: Path,
) -> None:
    first, second = source(tmp_path / "src", name="a.cu"), source(tmp_path / "src", name="b.cu")
    text = '#include "../src/a.cu"\n#include "../src/b.cu"\n'
    unity = source(tmp_path / "build", text, "unity_0_cu.cu")
    write_database(tmp_path / "build", (unity, ""))
    lacking = gaps("plan", tmp_path / "src")
    assert [(gap.kind, gap.input) for gap in lacking] == [
        ("evidence", str(first)),
        ("evidence", str(second)),
    ]
    assert len(gaps("plan", second)) == 1
    assert gaps("plan", tmp_path / "build") == []
    assert gaps("plan", tmp_path / "build", second) == []
