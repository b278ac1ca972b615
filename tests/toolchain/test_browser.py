"""The page in a real browser: it sorts, filters, fits, logs no error; skipped without Chromium."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lmemscope.analysis.groups import groups
from lmemscope.analysis.selection import parted
from lmemscope.exporters import render
from lmemscope.exporters.json import parse_report
from tests.support.program import Finished

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
  const table=heads[0].closest('table'),names=heads.map(h=>h.textContent);
  const column=names.indexOf('frame'),rows=[...table.tBodies[0].rows];
  const frames=()=>[...table.tBodies[0].rows].map(r=>Number(r.children[column].dataset.v));
  const seen=()=>rows.filter(r=>r.getClientRects().length).length;
  const before=frames();heads[column].focus();
  const focused=document.activeElement===heads[column];
  heads[column].click();const down=frames();heads[column].click();const up=frames();
  const sorted=a=>[...a].sort((x,y)=>x-y);
  const input=document.querySelector('input[type=search]');
  const type=text=>{input.value=text;input.dispatchEvent(new Event('input'))};
  const overflow=document.documentElement.scrollWidth>innerWidth;
  const height=document.documentElement.scrollHeight;
  const clean=[...document.querySelectorAll('details.quiet')].at(-1),folded=!clean.open;
  type('SORTED rank');const typed=seen();type('registers');const advised=seen();
  type('soften');const found=[seen(),clean.open];type('');
  const chip=[...document.querySelectorAll('.chip')].find(c=>c.textContent.includes('volatile'));
  chip.click();const chosen=seen();const pressed=chip.getAttribute('aria-pressed');chip.click();
  const last=[...document.querySelectorAll('.card')].at(-1),closed=last.open;
  location.hash=last.querySelector('[id]').id;
  const result={rows:seen(),names,focused,overflow,height,folded,typed,found,chosen,pressed,closed,
    advised,verdict:rows[0].children[1].getBoundingClientRect().right<=innerWidth,
    ascending:JSON.stringify(up)===JSON.stringify(sorted(before)),
    descending:JSON.stringify(down)===JSON.stringify(sorted(before).reverse()),
    background:getComputedStyle(document.body).backgroundColor,errors};
  document.body.insertAdjacentHTML('beforeend','<pre id=probe>'+JSON.stringify(result)+'</pre>');
});
</script>
"""


def probe(page: str, tmp_path: Path, width: int, dark: bool) -> dict[str, Any]:
    import html
    import json

    path = tmp_path / "page.html"
    # Before the page's policy, which would not let it run.
    path.write_text(page.replace("<head>", f'<head><meta charset="utf-8">{PROBE}', 1))
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
    found: dict[str, Any] = json.loads(html.unescape(match.group(1)))
    return found


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (500, False), (1000, True)])
def test_the_page_works(shipped: Finished, tmp_path: Path, width: int, dark: bool) -> None:
    report = parse_report(shipped.out)
    page = render(report, "html", color=False, width=None, verbose=True)
    found = probe(page, tmp_path, width, dark)
    assert found["errors"] == []
    assert found["rows"] == len(parted(groups(report))[0])
    assert found["names"][:2] == ["kernel", "verdict"]
    assert found["focused"] is True
    assert found["ascending"] is True
    assert found["descending"] is True
    assert found["overflow"] is False
    assert found["verdict"] is True
    assert found["folded"] is True
    assert found["typed"] == 1, "rank_median, by its variable"
    assert found["advised"] == 0, "what only advice says is not searched"
    assert found["found"] == [0, True], "a clean kernel is unfolded when it is searched for"
    assert (found["chosen"], found["pressed"]) == (1, "true")
    assert found["closed"] is False
    assert found["background"] == ("rgb(13, 17, 23)" if dark else "rgb(255, 255, 255)")
