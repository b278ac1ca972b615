"""The HTML page in a real browser: it sorts, fits and logs no error; skipped without Chromium."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lmemscope.exporters import render
from lmemscope.exporters.json import parse_report
from tests.conftest import Finished

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.toolchain,
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium here: apt install chromium"),
]
PROBE = """
<script>
const errors=[];addEventListener('error',e=>errors.push(e.message));
addEventListener('load',()=>{
  const heads=[...document.querySelectorAll('th button')];
  const table=heads[0].closest('table');
  const frames=()=>[...table.tBodies[0].rows].map(r=>Number(r.children[3].dataset.v));
  const before=frames();heads[3].focus();const focused=document.activeElement===heads[3];
  heads[3].click();const up=frames();heads[3].click();const down=frames();
  const sorted=a=>[...a].sort((x,y)=>x-y);
  const result={rows:before.length,focused,
    ascending:JSON.stringify(up)===JSON.stringify(sorted(before)),
    descending:JSON.stringify(down)===JSON.stringify(sorted(before).reverse()),
    overflow:document.documentElement.scrollWidth>innerWidth,
    background:getComputedStyle(document.body).backgroundColor,errors};
  document.body.insertAdjacentHTML('beforeend','<pre id=probe>'+JSON.stringify(result)+'</pre>');
});
</script>
"""


def probe(page: str, tmp_path: Path, width: int, dark: bool) -> dict[str, object]:
    import html
    import json

    path = tmp_path / "page.html"
    path.write_text(page.replace("</head>", f"{PROBE}</head>", 1))
    assert BROWSER is not None
    done = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
            f"--window-size={width},1000",
            "--dump-dom",
            path.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    match = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, re.DOTALL)
    assert match is not None, done.stderr
    found: dict[str, object] = json.loads(html.unescape(match.group(1)))
    return found


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (800, False), (1000, True)])
def test_the_page_works(shipped: Finished, tmp_path: Path, width: int, dark: bool) -> None:
    report = parse_report(shipped.out)
    page = render(report, "html", color=False, width=None, verbose=True)
    found = probe(page, tmp_path, width, dark)
    assert found["errors"] == []
    assert found["rows"] == sum(len(unit.kernels) for unit in report.units)
    assert found["focused"] is True
    assert found["ascending"] is True
    assert found["descending"] is True
    assert found["overflow"] is False
    assert found["background"] == ("rgb(13, 17, 23)" if dark else "rgb(255, 255, 255)")
