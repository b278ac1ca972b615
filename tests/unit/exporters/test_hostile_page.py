"""Hostile reports and sources in a real browser: no script runs, no request leaves the page."""

from __future__ import annotations

import dataclasses
import html
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from msgspec.structs import replace

from lmemscope.exporters import render
from lmemscope.model import Report, by_name
from tests.support.hostile import TEXTS, hostile
from tests.support.program import run_program

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium here: apt install chromium"),
]
WATCH = """
<script>
const ran=[],stopped=[];
window.alert=text=>ran.push(String(text));
addEventListener('securitypolicyviolation',e=>stopped.push(e.effectiveDirective));
addEventListener('load',()=>setTimeout(()=>{
  for(const one of document.querySelectorAll('details'))one.open=true;
  for(const one of document.querySelectorAll('button'))one.click();
  const rows=document.querySelectorAll('tr').length,out=document.createElement('pre');
  const told={ran,stopped,title:document.title,rows,scripts:document.scripts.length,
    images:document.images.length,frames:window.length};
  out.id='told';out.textContent=JSON.stringify(told);document.body.append(out);
},50));
</script>
"""
ATTACKS = (
    "<script>alert('script')</script>",
    "</script><script>alert('broken out')</script>",
    "</title></style></textarea><img src=URL/img onerror=alert('error')>",
    "\"><svg onload=alert('svg')><image href=URL/svg></svg>",
    "' onmouseover=alert(1) style=background:url(URL/style) x='",
    "<iframe src=URL/frame srcdoc=\"<script>parent.alert('frame')</script>\"></iframe>",
    "<link rel=stylesheet href=URL/sheet><meta http-equiv=refresh content='0;url=URL/refresh'>",
    "<style>@import url(URL/import);body{background:url(URL/body)}</style>",
    "<base href=URL/><object data=URL/object></object><video src=URL/video autoplay></video>",
    "}</style><script src=URL/external></script>",
    "--></noscript><form action=URL/form><button formaction=javascript:alert('form')>",
    "javascript:alert('link')",
    "&lt;script&gt;alert('entity')&lt;/script&gt;",
    "]]><script>alert('cdata')</script>",
    "+ADw-script+AD4-alert('utf7')+ADw-/script+AD4-",
    "\u2028alert('separator')//",
    '["\\"]"],[alert(\'json\')]',
)


class Server:
    """A server that writes down who asks."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_response(404)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                del format, args

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=[0.05], daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@dataclasses.dataclass
class Told:
    """What the page did: scripts that ran, what its policy stopped, what is on it."""

    ran: list[str]
    stopped: list[str]
    title: str
    rows: int
    scripts: int
    images: int
    frames: int


def opened(page: str, tmp_path: Path) -> Told:
    """Open a page, unfold it all, and press every button."""
    path = tmp_path / "page.html"
    # Before the page's policy, which would not let it run.
    path.write_text(page.replace("<head>", f'<head><meta charset="utf-8">{WATCH}', 1))
    assert BROWSER is not None
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000")
    done = subprocess.run(
        [BROWSER, *flags, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", path.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    match = re.search(r'<pre id="told">(.*?)</pre>', done.stdout, re.DOTALL)
    assert match is not None, done.stderr
    return Told(**json.loads(html.unescape(match.group(1))))


def attacks(server: Server) -> list[str]:
    return [one.replace("URL", server.url) for one in ATTACKS]


def together(texts: list[str]) -> Report:
    """The units of one hostile report for each text."""
    reports = [hostile(text, number) for number, text in enumerate(texts)]
    return replace(
        reports[0],
        units=tuple(unit for one in reports for unit in one.units),
        notes=tuple(note for one in reports for note in one.notes),
        toolchain=by_name(tool for one in reports for tool in one.tools),
    )


def test_a_hostile_report_runs_nothing_and_asks_nobody(server: Server, tmp_path: Path) -> None:
    made = together([*attacks(server), *TEXTS])
    told = opened(render(made, "html"), tmp_path)
    assert told.rows > len(ATTACKS)
    assert (told.ran, told.images, told.frames) == ([], 0, 0)
    assert told.title == "Local memory"
    # Not even the second line had anything to stop.
    assert told.stopped == []
    # The page's own, and the one that watches.
    assert told.scripts == 2
    assert server.asked == []


@pytest.mark.parametrize("policy", [True, False], ids=["with the policy", "without"])
def test_the_policy_stops_what_would_have_got_through(
    server: Server, tmp_path: Path, policy: bool
) -> None:
    """One text that nobody escaped: the second line holds, and without it this test would fail."""
    page = render(hostile("x"), "html")
    raw = "".join(one for one in attacks(server)[2:5])
    page = page.replace("</h1>", f"</h1><script>alert('raw')</script>{raw}", 1)
    if not policy:
        page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    told = opened(page, tmp_path)
    assert told.rows > 0
    if policy:
        assert (told.ran, server.asked) == ([], [])
        assert {"script-src-elem", "img-src"} <= {*told.stopped}
    else:
        assert {"raw", "error", "svg"} <= {*told.ran}
        assert "/img" in server.asked


SOURCE = """\
extern "C" __global__ void k(float *out, int i) { // </script><script>alert('line')</script>
    float t[200]; // "><img src=URL/img onerror=alert('image')> \x1b[31m \u202e
    for (int j = 0; j < 200; j++) t[j] = out[j]; /* </code></div><svg onload=alert('svg')> */
#line 40 "</title><img src=x onerror=alert('name')>.cu"
    out[0] = t[i]; // <iframe srcdoc="<script>parent.alert('frame')</script>">
}
"""


@pytest.mark.toolchain
def test_a_hostile_source_runs_nothing(server: Server, tmp_path: Path) -> None:
    name = "<img src=x onerror=alert('file')>\u202e.cu"
    (tmp_path / name).write_text(SOURCE.replace("URL", server.url))
    done = run_program("report", name, "-o", "out.html", cwd=tmp_path)
    assert done.code == 0, done.err
    page = (tmp_path / "out.html").read_text()
    assert "onerror=alert(&#x27;file&#x27;)" in page
    assert "alert(&#x27;svg&#x27;)" in page, "the line of the loop is quoted"
    assert "alert(&#x27;name&#x27;)" in page, "and the file that a directive names"
    told = opened(page, tmp_path)
    assert (told.ran, told.stopped, told.images, told.frames) == ([], [], 0, 0)
    assert server.asked == []
