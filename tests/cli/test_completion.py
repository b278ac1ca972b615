"""What shells offer, through click's own completion."""

from __future__ import annotations

import pytest
from click.shell_completion import ShellComplete

from lmemscope.commands.group import cli


def offered(*words: str) -> list[str]:
    *args, incomplete = words
    shell = ShellComplete(cli, {}, "lmemscope", "_LMEMSCOPE_COMPLETE")
    return [
        "a file" if one.type == "file" else one.value
        for one in shell.get_completions(args, incomplete)
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("sca",), ["scan"]),
        (("scan", "--arc"), ["--arch"]),
        (("scan", "--arch", "all"), ["all-major"]),
        (("dump", "--arch", "sm_90"), ["sm_90", "sm_90a", "sm_90f"]),
        (("scan", "--cause", "dyn"), ["dynamic-index"]),
        (("check", "--forbid", "dyn"), ["dynamic-index"]),
        (("check", "--uninstantiated", "n"), ["note"]),
        (("scan", "--format", "j"), ["json"]),
        (("rules", "dyn"), ["dynamic-index"]),
        (("scan", "a."), ["a file"]),
        (("explain", "a."), ["a file"]),
        (("scan", "-o", "a."), ["a file"]),
        (("scan", "-I", "in"), ["a file"]),
    ],
)
def test_words_and_files(words: tuple[str, ...], expected: list[str]) -> None:
    assert offered(*words) == expected
