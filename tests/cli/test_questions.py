"""The pages of docs/questions: every command runs, and prints the lines that the page shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.support.program import ROOT, run_program

PAGES = sorted((ROOT / "docs" / "questions").glob("*.md"))
BLOCK = re.compile(r"```console\n\$ lmemscope (.*?)\n(.*?)```", re.DOTALL)


def examples() -> list[tuple[str, str, str]]:
    found = []
    for page in PAGES:
        for command, shown in BLOCK.findall(page.read_text()):
            found.append((page.name, command, shown))
    return found


def plain(text: str) -> str:
    return re.sub(r"[ █]+", " ", text)


def test_every_page_has_commands_and_is_listed() -> None:
    listed = (ROOT / "docs" / "questions" / "README.md").read_text()
    for page in PAGES:
        if page.name != "README.md":
            assert f"({page.name})" in listed
            assert BLOCK.search(page.read_text()), page.name


@pytest.mark.toolchain
@pytest.mark.parametrize(("page", "command", "shown"), examples())
def test_the_page_shows_what_the_command_prints(page: str, command: str, shown: str) -> None:
    done = run_program(*shlex.split(command))
    printed = plain(done.out + done.err)
    for line in shown.splitlines():
        if line.strip():
            assert plain(line.strip()) in printed, f"{page}: {line}"


def test_what_the_pages_speak_of_is_there() -> None:
    for page in PAGES:
        for path in re.findall(
            r"(?:kernels|tests/support/data)/[\w./]+\.(?:cu|py)", page.read_text()
        ):
            assert Path(ROOT, path).exists(), f"{page.name}: {path}"
