"""One self-contained HTML page: sortable table, annotated source, frame maps, causes as bars.

No network, no framework: the page is text, one style sheet and a few lines of script, and reads
well without the script. Light and dark follow the reader's system.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from html import escape

from lmemscope.exporters import layout
from lmemscope.exporters.explanation import frame_label, merged
from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.layout import Row
from lmemscope.model import VERDICT_KINDS, Finding, KernelReport, Report, UnitReport

_STYLE = (
    """
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--dim:#59636e;--line:#d1d9e0;--panel:#f6f8fa;
--spill:#c93c37;--object:#b35900;--call:#7d4e00;--minor:#0969da;--clean:#1a7f37;--unknown:#8250df}
@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--dim:#9198a1;--line:#3d444d;
--panel:#151b23;--spill:#ff7b72;--object:#f0a35e;--call:#d4a72c;--minor:#79c0ff;--clean:#56d364;
--unknown:#d2a8ff}}
*{box-sizing:border-box}body{margin:0 auto;max-width:76rem;padding:1.5rem;background:var(--bg);
color:var(--fg);font:15px/1.5 system-ui,sans-serif}h1{font-size:1.5rem;margin:0 0 .25rem}
h2{font-size:1.15rem;margin:2rem 0 .5rem}a{color:var(--minor)}thead th{position:sticky;top:0;
background:var(--bg)}p{margin:.25rem 0}.dim{color:var(--dim)}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%}th,td{padding:.3rem .6rem;
border-bottom:1px solid var(--line);text-align:left;vertical-align:top}td.n,th.n{text-align:right;
font-variant-numeric:tabular-nums}th button{all:unset;cursor:pointer;font-weight:600}
th button:focus-visible,summary:focus-visible,a:focus-visible{outline:2px solid var(--minor);
outline-offset:2px}th[aria-sort=ascending] button::after{content:" \\2191"}
th[aria-sort=descending] button::after{content:" \\2193"}code,pre{font:13px/1.45 ui-monospace,
monospace}pre{margin:.5rem 0;padding:.6rem;background:var(--panel);border:1px solid var(--line);
border-radius:6px;overflow-x:auto}details{border:1px solid var(--line);border-radius:6px;
margin:.6rem 0;padding:.4rem .8rem}summary{cursor:pointer}.bar{display:flex;height:1.6rem;
border:1px solid var(--line);border-radius:4px;overflow:hidden}.bar span{min-width:2px;
padding:0 .3rem;overflow:hidden;white-space:nowrap;font-size:12px;line-height:1.5rem;color:#fff}
.chart{width:auto}.chart td{border:0;padding:.1rem .6rem}.chart td:nth-child(2){width:28rem;
max-width:50vw}.chart i{display:block;height:.9rem;margin-top:.3rem;background:var(--object);
border-radius:3px;min-width:2px}.src{display:grid;grid-template-columns:auto 1fr;margin:.5rem 0}
.src div{padding:0 .6rem;white-space:pre;font:13px/1.5 ui-monospace,monospace;overflow:hidden;
text-overflow:ellipsis}.src .l{text-align:right;color:var(--dim)}.src .note{grid-column:2;
color:var(--object);white-space:normal}
""".strip()
    + "".join(f"\n.{kind.name}{{color:var(--{kind.shade})}}" for kind in VERDICT_KINDS)
)
_SCRIPT = """
for(const b of document.querySelectorAll('th button'))b.addEventListener('click',()=>{
const th=b.parentElement,t=th.closest('table'),i=[...th.parentElement.children].indexOf(th);
const up=th.getAttribute('aria-sort')!=='ascending';
for(const o of th.parentElement.children)o.removeAttribute('aria-sort');
th.setAttribute('aria-sort',up?'ascending':'descending');
const v=r=>r.children[i].dataset.v??r.children[i].textContent,n=th.classList.contains('n');
const rows=[...t.tBodies[0].rows].sort((a,b)=>n?v(a)-v(b):v(a).localeCompare(v(b)));
if(!up)rows.reverse();t.tBodies[0].append(...rows)})
""".strip()
_COLUMNS = (
    ("kernel", False),
    ("arch", False),
    ("registers", True),
    ("frame", True),
    ("spill", True),
    ("LDL", True),
    ("STL", True),
    ("PTX .local", True),
    ("verdict", False),
)
_COLORS = ("#8f4e00", "#0a5bc4", "#7337c9", "#176f2c", "#9c2b27", "#5b6470")


def render_html(report: Report) -> str:
    """The whole page."""
    listed = layout.rows(report)
    body = [
        "<h1>Local memory</h1>",
        f"<p>{escape(layout.summary(report))}.</p>",
        f'<p class="dim">lmemscope {escape(report.version)}; {escape(layout.routes(report))}. '
        "Sizes are bytes per thread; LDL and STL are counts of instructions.</p>",
        *(f'<p class="dim">Note: {escape(note)}.</p>' for note in report.notes),
        *_failures(report),
        *_chart(listed),
        *_table(listed),
        "<h2>Kernel by kernel</h2>" if listed else "",
    ]
    for number, row in enumerate(listed):
        body += _kernel(number, row)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>Local memory</title><style>{_STYLE}</style></head>\n<body>\n"
        + "\n".join(part for part in body if part)
        + f"\n<script>{_SCRIPT}</script>\n</body></html>\n"
    )


def render(report: Report, how: Presentation) -> str:
    """As `render_html`; a page is the same for everybody."""
    del how
    return render_html(report)


def _failures(report: Report) -> list[str]:
    failed = [unit for unit in report.units if unit.failure is not None]
    if not failed:
        return []
    return ["<h2>Not analysed</h2>", *(_failure(unit) for unit in failed)]


def _failure(unit: UnitReport) -> str:
    assert unit.failure is not None
    text = f"[{unit.failure.stage}] {unit.failure.message}"
    log = f"<pre>{escape(unit.failure.log)}</pre>" if unit.failure.log else ""
    hint = f'<p class="dim">{escape(unit.failure.hint)}</p>' if unit.failure.hint else ""
    return f'<p class="spill">{escape(text)}</p>{log}{hint}'


def _table(listed: list[Row]) -> list[str]:
    if not listed:
        return []
    heads = "".join(
        f'<th scope="col"{" class=n" if right else ""}><button type="button">{title}</button></th>'
        for title, right in _COLUMNS
    )
    lines = [
        "<h2>All kernels</h2>",
        '<div class="wide"><table><thead><tr>' + heads + "</tr></thead><tbody>",
    ]
    for number, (unit, kernel) in enumerate(listed):
        facts = kernel.facts
        name = escape(layout.short_name(facts.demangled))
        figures = (
            facts.registers,
            facts.stack_frame,
            facts.spill_bytes,
            facts.sass.load_sites if facts.sass is not None else None,
            facts.sass.store_sites if facts.sass is not None else None,
            facts.ptx.local_bytes if facts.ptx is not None else None,
        )
        cells = "".join(
            f'<td class="n{"" if f else " dim"}" data-v="{-1 if f is None else f}">'
            f"{'–' if f == 0 else layout.number(f)}</td>"
            for f in figures
        )
        lines.append(
            f'<tr><td><a href="#k{number}">{name}</a><br><span class="dim">{escape(unit.input)}'
            f"</span></td><td>{escape(unit.arch)}</td>{cells}"
            f'<td class="{kernel.verdict.kind}" data-v="{number:06}">'
            f"{escape(kernel.verdict.text)}</td></tr>"
        )
    return [*lines, "</tbody></table></div>"]


def _chart(listed: list[Row]) -> list[str]:
    """Bytes at instruction sites by cause, over all kernels."""
    totals: Counter[str] = Counter()
    for _, kernel in listed:
        for share in kernel.facts.causes:
            totals[share.cause] += share.sites.load_bytes + share.sites.store_bytes
    shown = [(cause, size) for cause, size in totals.most_common() if size]
    if not shown:
        return []
    most = shown[0][1]
    lines = ["<h2>Causes, by bytes at instruction sites</h2>", '<table class="chart"><tbody>']
    lines += [
        f"<tr><td>{escape(cause)}</td><td><i style='width:{100 * size / most:.1f}%'></i></td>"
        f'<td class="n">{size}</td></tr>'
        for cause, size in shown
    ]
    return [*lines, "</tbody></table>"]


def _kernel(number: int, row: Row) -> list[str]:
    unit, kernel = row
    facts = kernel.facts
    opened = " open" if kernel.findings and number < 3 else ""
    place = f"{facts.location.file}:{facts.location.line}" if facts.location else unit.input
    lines = [
        f'<details id="k{number}"{opened}><summary><b>'
        f"{escape(layout.short_name(facts.demangled))}</b> {escape(unit.arch)} "
        f'<span class="{kernel.verdict.kind}">{escape(kernel.verdict.text)}</span></summary>',
        f'<p class="dim"><code>{escape(facts.demangled)}</code>, {escape(place)}, by '
        f"{escape(unit.frontend)}</p>",
    ]
    lines += _annotated(unit, kernel)
    lines += _frame(kernel)
    for finding in kernel.findings:
        lines += _finding(finding)
    for found in facts.disagreements:
        values = ", ".join(f"{escape(source)} says {value}" for source, value in found.values)
        lines.append(
            f'<p class="unknown">Sources disagree on {escape(found.quantity)}: {values}</p>'
        )
    return [*lines, "</details>"]


def _annotated(unit: UnitReport, kernel: KernelReport) -> list[str]:
    """Source lines with heat: the more site bytes, the stronger the background."""
    uses = defaultdict(list)
    for use in kernel.facts.lines:
        uses[use.location].append(use)
    if not uses:
        return []
    most = max(
        sum(u.sites.load_bytes + u.sites.store_bytes for u in listed) for listed in uses.values()
    )
    quoted = layout.quoted(unit)
    lines = ['<div class="src">']
    for place in sorted(uses):
        size = sum(u.sites.load_bytes + u.sites.store_bytes for u in uses[place])
        heat = 8 + round(32 * size / most) if most else 0
        loads = sum(u.sites.load_sites for u in uses[place])
        stores = sum(u.sites.store_sites for u in uses[place])
        style = f"background:color-mix(in srgb,var(--object) {heat}%,transparent)"
        text = quoted.get(place, "").expandtabs(2)
        lines.append(
            f'<div class="l">{place.line}</div>'
            f'<div style="{style}">{escape(text) or "&nbsp;"}</div>'
            f'<div class="note">{layout.count(loads, "load")}, {layout.count(stores, "store")}, '
            f"{size} bytes at sites</div>"
        )
    return [*lines, "</div>"]


def _frame(kernel: KernelReport) -> list[str]:
    facts = kernel.facts
    if not facts.frame or not facts.stack_frame:
        return []
    rows = merged([(part, frame_label(kernel, part)) for part in facts.frame])
    spans = "".join(
        f'<span style="flex:{part.size};background:{_COLORS[index % len(_COLORS)]}" '
        f'title="{escape(label)}, bytes {part.offset} to {part.offset + part.size - 1}">'
        f"{escape(label)} {part.size} B</span>"
        for index, (part, label) in enumerate(rows)
    )
    labels = "; ".join(f"{label}: {part.size} bytes" for part, label in rows)
    return [
        f"<p>Stack frame, {facts.stack_frame} bytes per thread</p>",
        f'<div class="bar" role="img" aria-label="{escape(labels)}">{spans}</div>',
    ]


def _finding(finding: Finding) -> list[str]:
    place = ""
    if finding.location is not None:
        place = f" at <code>{escape(finding.location.file)}:{finding.location.line}</code>"
    lines = [
        f"<p><b>{finding.severity} {finding.rule} {finding.name}</b>{place}: "
        f"{escape(finding.message)}</p>",
        "<ul>",
    ]
    for advice in finding.advice:
        code = f"<pre>{escape(advice.code)}</pre>" if advice.code is not None else ""
        lines.append(f"<li>{escape(advice.text)}{code}</li>")
    lines.append("</ul>")
    if finding.evidence:
        lines.append(f'<p class="dim">Evidence: {escape(layout.evidence(finding))}</p>')
    return lines
