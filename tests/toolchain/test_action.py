"""What action.yml runs, as the shell that it is: a pull request, a push, a comment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.program import ROOT
from tests.support.repositories import git, kernel

pytestmark = pytest.mark.toolchain
SCRIPT = ROOT / ".ci" / "action.sh"


class GitHub(ThreadingHTTPServer):
    """As much of GitHub as a comment needs."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.comments: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.refuses = False

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Answer(BaseHTTPRequestHandler):
    server: GitHub

    def _answer(self) -> None:
        self.server.asked.append(self.command)
        length = int(self.headers.get("Content-Length") or 0)
        given = json.loads(self.rfile.read(length)) if length else None
        code, said = 200, self._said(given)
        if self.server.refuses:
            code, said = 403, {}
        body = json.dumps(said).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PATCH = _answer  # noqa: N815

    def _said(self, given: Any) -> Any:
        comments = self.server.comments
        if self.command == "GET":
            return comments
        if self.command == "POST":
            url = f"{self.server.address}/comments/{len(comments)}"
            comments.append({"url": url, "user": {"type": "Bot"}, **given})
            return comments[-1]
        comments[int(self.path.rpartition("/")[2])].update(given)
        return {}

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def github() -> Iterator[GitHub]:
    with GitHub() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What actions/checkout leaves of a pull request: its newest commit, without what is below."""
    origin = tmp_path / "origin"
    origin.mkdir()
    git(origin, "init", "-q", "-b", "main")
    git(origin, "config", "uploadpack.allowAnySHA1InWant", "true")
    (origin / "k.cu").write_text(kernel("old"))
    git(origin, "add", ".")
    git(origin, "commit", "-q", "-m", "base")
    git(origin, "checkout", "-q", "-b", "branch")
    (origin / "k.cu").write_text(kernel("old") + kernel("added"))
    git(origin, "commit", "-q", "-a", "-m", "a kernel")
    git(tmp_path, "clone", "-q", "--depth", "1", "-b", "branch", f"file://{origin}", "here")
    return tmp_path / "here"


def act(checkout: Path, github: GitHub, **environment: str) -> subprocess.CompletedProcess[str]:
    beside = checkout.parent
    bin_ = beside / "bin"
    bin_.mkdir(exist_ok=True)
    (bin_ / "lmemscope").write_text(f'#!/bin/sh\nexec {sys.executable} -m lmemscope "$@"\n')
    (bin_ / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    for one in bin_.iterdir():
        one.chmod(0o755)
    own = {
        "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}",
        "LMEMSCOPE_PATHS": ".",
        "GITHUB_API_URL": github.address,
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_TOKEN": "t",
        "GITHUB_OUTPUT": str(beside / "output"),
    }
    return subprocess.run(
        ["bash", str(SCRIPT)],
        cwd=checkout,
        env={**os.environ, **own, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def of_pull_request(checkout: Path) -> dict[str, str]:
    base = git(checkout.parent / "origin", "rev-parse", "main").strip()
    return {"LMEMSCOPE_BASE": base, "LMEMSCOPE_PULL_REQUEST": "7", "LMEMSCOPE_COMMENT": "true"}


def test_a_pull_request_fails_for_what_it_adds_and_has_one_comment(
    checkout: Path, github: GitHub
) -> None:
    given = of_pull_request(checkout)
    done = act(checkout, github, LMEMSCOPE_SARIF="lmem.sarif", **given)
    assert done.returncode == 1, done.stderr
    assert "new: added (k.cu" in done.stdout
    assert "new: old" not in done.stdout
    results = json.loads((checkout / "lmem.sarif").read_text())["runs"][0]["results"]
    assert [one["level"] for one in results if "suppressions" not in one] == ["error"]
    (comment,) = github.comments
    assert comment["body"].startswith("<!-- lmemscope check -->\n")
    assert "`added`" in comment["body"]
    (checkout / "k.cu").write_text(kernel("old"))
    again = act(checkout, github, **given)
    assert again.returncode == 0, again.stdout
    (comment,) = github.comments
    assert "`added`" not in comment["body"]
    assert github.asked == ["GET", "POST", "GET", "PATCH"]


def test_without_the_permission_the_answer_is_the_same(checkout: Path, github: GitHub) -> None:
    github.refuses = True
    done = act(checkout, github, **of_pull_request(checkout))
    assert done.returncode == 1
    assert "::notice::" in done.stdout
    file = (checkout.parent / "output").read_text().strip().removeprefix("comment-file=")
    assert "`added`" in Path(file).read_text()


def test_a_push_is_checked_as_a_whole(checkout: Path, github: GitHub) -> None:
    done = act(checkout, github, LMEMSCOPE_ARGUMENTS="--max-frame 100")
    assert done.returncode == 0, done.stdout
    strict = act(checkout, github)
    assert strict.returncode == 1
    assert {"new: old", "new: added"} <= {s.partition(" (")[0] for s in strict.stdout.splitlines()}
    assert github.asked == []
