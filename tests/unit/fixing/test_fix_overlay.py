"""Copies of the file system in which some files read otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.fixing.overlay import overlay
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
