"""Copies of the file system in which some files read otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.fixing.overlay import overlaid, overlay
from lmemscope.model import CompileOptions, Edit, Unit


def written(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize("through", ["curve/fp.h", "<fp.h>"])
def test_what_is_included_upwards_from_another_directory_is_patched(
    through: str, tmp_path: Path
) -> None:
    """Through a directory that is a link, ``../`` would lead to the original."""
    (project := tmp_path / "project").mkdir()
    (copy := tmp_path / "copy").mkdir()
    include = through if through.startswith("<") else f'"{through}"'
    written(
        project,
        {
            "a.cu": f"#include {include}\n",
            "curve/fp.h": '#include "../uint/u.h"\n',
            "uint/u.h": "int x;\n",
            "uint/other.h": "int y;\n",
        },
    )
    header = project / "uint" / "u.h"
    unit = Unit(
        str(project / "a.cu"),
        str(project / "a.cu"),
        "auto",
        "sm_90",
        CompileOptions(include_dirs=(str(project / "curve"),)),
    )
    made = overlay(unit, (Edit(str(header), 0, 3, b"long"),), str(copy))
    beside = Path(made.path).parent
    assert beside != project
    (curve,) = map(Path, made.options.include_dirs)
    for start in (beside / "curve", curve):
        assert Path(f"{start}/../uint/u.h").read_text() == "long x;\n"
        assert Path(f"{start}/../uint/other.h").read_text() == "int y;\n"
    assert header.read_text() == "int x;\n"


def test_a_copy_shows_nothing_of_the_one_before(tmp_path: Path) -> None:
    written(tmp_path, {"a.cu": "int a;\n", "deep/b.cu": "int b;\n", "deep/c.h": "int c;\n"})
    paths = []
    for name in ("a.cu", "deep/b.cu", "a.cu"):
        file = str(tmp_path / name)
        unit = Unit(file, file, "auto", "sm_90")
        with overlaid(unit, (Edit(file, 0, 3, b"long"),), is_run=False) as made:
            copy = Path(made.path)
            assert copy.read_text().startswith("long ")
            top = copy.parent if name == "a.cu" else copy.parent.parent
            originals = {"a.cu", "deep/b.cu", "deep/c.h"} - {name}
            assert all((top / one).read_text().startswith("int ") for one in originals)
            paths.append(copy)
        (tmp_path / "new.h").write_text("int d;\n")
    assert len(set(paths)) == 3, "what a process keeps by a path is of one copy"
    assert (top / "new.h").read_text() == "int d;\n"
    assert (tmp_path / "a.cu").read_text() == "int a;\n"


def test_a_copy_that_fails_or_is_run_is_not_used_again(tmp_path: Path) -> None:
    file = str(tmp_path / "a.py")
    written(tmp_path, {"a.py": "a = 1\n"})
    unit = Unit(file, file, "auto", "sm_90")
    with overlaid(unit, (), is_run=True) as run:
        Path(run.path).with_name("made.txt").write_text("")
    assert not Path(run.path).exists()
    with pytest.raises(RuntimeError), overlaid(unit, (), is_run=False) as failed:
        raise RuntimeError
    assert not Path(failed.path).exists()
