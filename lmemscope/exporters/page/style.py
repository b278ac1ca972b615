"""The page's style sheet and script: constants, without anything of a report's in them."""

from __future__ import annotations

from typing import get_args

from lmemscope.exporters.escape_html import constant
from lmemscope.model import VERDICT_KINDS, Cause

_LIGHT = """--bg:#fff;--fg:#1b1f24;--dim:#59636e;--line:#d1d9e0;--panel:#f6f8fa;--hot:#b35900;
--spill:#b3261e;--object:#934a00;--call:#7d4e00;--minor:#0a5bc4;--clean:#1a7f37;--unknown:#7337c9"""
_STYLE = """
:root{color-scheme:light dark;LIGHT}
@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--dim:#9198a1;--line:#3d444d;
--panel:#151b23;--hot:#f0a35e;--spill:#ff8f87;--object:#f0a35e;--call:#d4a72c;--minor:#79c0ff;
--clean:#56d364;--unknown:#d2a8ff}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:90rem;padding:1.5rem;background:var(--bg);color:var(--fg);
font:15px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;margin:0 0 .25rem}h2{font-size:1.15rem;margin:2rem 0 .5rem}
h3{font-size:.95rem;margin:1.1rem 0 .25rem}
p{margin:.25rem 0}p,li{max-width:72rem}a{color:var(--minor)}.dim{color:var(--dim)}
ul{margin:.25rem 0;
padding-left:1.3rem}
.tally{font-size:1.05rem}
code,pre{font:13px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
p code,li code{background:var(--panel);padding:.05rem .25rem;border-radius:4px}
pre{margin:.5rem 0;padding:.6rem;background:var(--panel);border:1px solid var(--line);
border-radius:6px;overflow-x:auto;overflow-wrap:normal;max-width:100%}
table{border-collapse:collapse;width:100%}
th,td{padding:.35rem .6rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
th:first-child,td:first-child{padding-left:0}
thead th{position:sticky;top:0;background:var(--bg);z-index:1;white-space:nowrap}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
th button{all:unset;cursor:pointer;font-weight:600}
th[aria-sort=ascending] button::after{content:" \\2191"}
th[aria-sort=descending] button::after{content:" \\2193"}
td.name{width:34%}td.verdict{width:30%}td small{display:block;color:var(--dim);font-size:12.5px}
td.arch{overflow-wrap:normal}
.plain{border:0;padding:0;margin:.1rem 0}.plain>summary{color:var(--dim);
font-size:13px}pre.wrapped{white-space:pre-wrap;overflow-wrap:anywhere}
.x{color:var(--dim);font-weight:400;white-space:nowrap}
:is(button,summary,a,input):focus-visible{outline:2px solid var(--minor);outline-offset:2px}
details{border:1px solid var(--line);border-radius:6px;margin:.6rem 0;padding:.4rem .8rem}
details details{margin:.4rem 0}
td details{border:0;margin:0;padding:0}summary{cursor:pointer}
td summary{color:var(--dim);font-size:12.5px}td details ul{columns:18rem}
details>div{scroll-margin-top:4rem}
.card>summary{list-style-position:outside;margin-left:1rem}.card>summary b{font-size:1.02rem}
.map{margin:1rem 0}.map svg{width:100%;height:auto;display:block}.narrow-map{max-width:30rem}
.map :is(.narrow-map,.print-map){display:none}
figcaption{color:var(--dim);font-size:13px;margin-top:.25rem}
.map p{font-size:13px;margin-top:.25rem}
.map rect.f{fill:var(--panel);stroke:var(--bg);stroke-width:2}
.map rect.t{fill:none}.map rect.c{stroke:var(--bg);stroke-width:1}
.map a:hover rect.c,.map a:focus-visible rect.c{stroke:var(--fg);stroke-width:2}
.map text{font:11px system-ui,sans-serif;fill:var(--fg);pointer-events:none}
.map text.ft{font-weight:600}.map text.ct{fill:#fff}
.causes{width:auto}.causes td{border:0;padding:.1rem .8rem .1rem 0;white-space:nowrap}
.causes td:first-child{width:8.5rem}.causes td:nth-child(3){width:4rem}
.causes td:nth-child(2){
width:min(26rem,40vw)}.causes i,.chip i{display:block;height:.9rem;margin-top:.3rem;
border-radius:3px;min-width:2px;background:currentColor}
.bar{display:flex;height:1.7rem;border:1px solid var(--line);border-radius:4px;overflow:hidden;
margin:.25rem 0;max-width:64rem}
.bar span{min-width:2px;padding:0 .35rem;overflow:hidden;white-space:nowrap;font-size:12px;
line-height:1.6rem;color:#fff;text-overflow:ellipsis}
.bar span+span{border-left:2px solid var(--bg)}
.bar .padding{background:repeating-linear-gradient(45deg,
var(--line) 0 4px,var(--panel) 4px 8px);color:var(--fg)}
.src{display:grid;grid-template-columns:auto minmax(0,1fr);margin:.25rem 0;
border:1px solid var(--line);border-radius:6px;overflow:hidden}
.src.two{grid-template-columns:auto minmax(0,1fr) minmax(0,1fr)}
.src>*{padding:.1rem .6rem;font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;
overflow-wrap:anywhere}
.src .l{text-align:right;color:var(--dim)}.src code{white-space:pre-wrap;background:none;padding:0;
display:block}.src small{color:var(--hot);font:12.5px/1.4 system-ui,sans-serif;display:block}
.src .sass{border-left:1px solid var(--line);white-space:pre-wrap;color:var(--dim)}
.src .head{color:var(--dim);background:var(--panel);grid-column:1/-1;
font:12.5px/1.5 system-ui,sans-serif}
.find{display:flex;flex-wrap:wrap;gap:.4rem;align-items:center;margin:.9rem 0}
.find input{font:inherit;padding:.3rem .6rem;border:1px solid var(--line);border-radius:6px;
background:var(--bg);color:var(--fg);width:min(22rem,100%)}
.chip{font:13px/1.4 system-ui,sans-serif;display:inline-flex;gap:.4rem;align-items:center;
border:1px solid var(--line);border-radius:1rem;padding:.15rem .7rem;background:var(--bg);
color:var(--fg);cursor:pointer}.chip i{width:.7rem;height:.7rem;margin:0;border-radius:50%}
.chip[aria-pressed=true]{background:var(--fg);color:var(--bg)}
.find output{color:var(--dim)}[hidden]{display:none!important}
.cards{content-visibility:auto;contain-intrinsic-size:auto 400px}
@media(min-width:52.01rem) and (max-width:70rem){
.rows :is(th,td):not(:first-child){padding:.35rem .4rem}}
@media screen and (max-width:52rem){.map .wide-map{display:none}.map .narrow-map{display:block}}
@media screen and (max-width:52rem){body{padding:1rem}
.rows,.rows>tbody{display:block}.rows>thead{display:block}
.rows>thead>tr{display:flex;flex-wrap:wrap;gap:0 .9rem;font-size:13px;
border-bottom:1px solid var(--line);padding-bottom:.3rem}
.rows>thead>tr::before{content:"Sort by";color:var(--dim)}
.rows>thead th{position:static;border:0;padding:0;text-align:left}
.rows>tbody>tr{display:flex;flex-wrap:wrap;gap:0 1rem;padding:.5rem 0;
border-bottom:1px solid var(--line)}
.rows>tbody>tr>td{border:0;padding:0;text-align:left;width:auto;white-space:normal}
.rows>tbody>tr>td.name,.rows>tbody>tr>td.verdict{flex:1 0 100%}
.rows>tbody>tr>td.n.dim{display:none}
.rows>tbody>tr>td[data-l]::before{content:attr(data-l) " ";color:var(--dim);
font-size:12.5px}
.src.two{grid-template-columns:auto minmax(0,1fr)}.src .sass{grid-column:2;border:0}
.src .sass:empty{display:none}.src .sass{white-space:pre-line}}
@media(max-width:30rem){.causes td:nth-child(2){width:25vw}h1{font-size:1.3rem}}
@page{margin:14mm}
@media print{.map .wide-map{display:none}.map .print-map{display:block}
:root{color-scheme:light;font-size:12px;LIGHT}
small,.src .head,.src small,figcaption,.map p,.x,.plain>summary{font-size:10px!important}
.rows :is(th,td):not(:first-child){padding:.2rem .3rem}
.rows :is(th,td){font-size:10px}td.name{width:30%;min-width:13rem}
body{max-width:none;padding:0;font-size:11px;print-color-adjust:exact;
-webkit-print-color-adjust:exact}
code,pre,.src>*,.bar span{font-size:10px}thead th{position:static}.find{display:none}
a{color:inherit;text-decoration:none}h2,h3,summary{break-after:avoid}
tr,.src>*,.bar,figure{break-inside:avoid}
.cards{content-visibility:visible}.card::details-content{content-visibility:visible;
display:block;height:auto}
.card{border:0;border-top:1px solid var(--line);border-radius:0;padding:.4rem 0}}
""".replace("LIGHT", _LIGHT).strip()
_FILLS = {
    "register-spill": "#b3261e",
    "callee-save": "#7a5c00",
    "dynamic-index": "#a34d00",
    "rolled-loop": "#0b6e4f",
    "large-array": "#6b3fa0",
    "address-taken": "#0a5bc4",
    "param-copy": "#006675",
    "const-table": "#8a3b78",
    "volatile": "#4a5b00",
    "printf-args": "#57606a",
    "math-slow-path": "#33658a",
    "call-frame": "#7d4e57",
    "alloca": "#9c2f5c",
    "device-launch": "#4f6272",
    "debug-build": "#444c56",
    "promoted": "#1a7f37",
    "unattributed": "#5b5f97",
}
if _FILLS.keys() != set(get_args(Cause)):
    raise TypeError("each cause has one colour on the page")

SCRIPT = constant(
    """
(()=>{const all=s=>[...document.querySelectorAll(s)];
for(const b of all('th button'))b.addEventListener('click',()=>{
const th=b.parentElement,t=th.closest('table'),i=[...th.parentElement.children].indexOf(th);
const n=th.classList.contains('n'),was=th.getAttribute('aria-sort');
const up=was?was!=='ascending':!n;
for(const o of th.parentElement.children)o.removeAttribute('aria-sort');
th.setAttribute('aria-sort',up?'ascending':'descending');
const v=r=>r.children[i].dataset.v??r.children[i].textContent;
const rows=[...t.tBodies[0].rows].sort((a,b)=>n?v(a)-v(b):v(a).localeCompare(v(b)));
if(!up)rows.reverse();t.tBodies[0].append(...rows)});
const bar=document.querySelector('.find');if(bar){
const rows=all('.rows>tbody>tr'),cards=new Map(all('.card').map(d=>[d.dataset.g,d]));
const texts=new Map(),causes=new Set(),folded=all('details.quiet');
const text=r=>{if(!texts.has(r)){const name=r.children[0],card=cards.get(r.dataset.g);
const said=[name,...name.querySelectorAll('[title]'),
...(card?.querySelectorAll('td.name,pre.wrapped')??[])].map(e=>e.textContent+' '+e.title);
texts.set(r,[...said,r.dataset.c,r.dataset.o].join(' ').toLowerCase())}return texts.get(r)};
const input=document.createElement('input');input.type='search';
input.placeholder='Filter: kernel, file, variable, cause';input.setAttribute('aria-label','Filter');
const said=document.createElement('output');
const apply=()=>{const words=input.value.toLowerCase().split(/\\s+/).filter(Boolean);let shown=0;
for(const r of rows){const mine=(r.dataset.c||'').split(' ');
const ok=(!causes.size||mine.some(c=>causes.has(c)))&&words.every(w=>text(r).includes(w));
r.hidden=!ok;shown+=ok;const card=cards.get(r.dataset.g);if(card)card.hidden=!ok}
const on=words.length||causes.size;said.textContent=on?shown+' of '+rows.length+' rows':'';
for(const d of folded){const some=[...d.querySelectorAll('.rows>tbody>tr')].some(r=>!r.hidden);
d.hidden=on&&!some;if(on)d.open=some;else d.open=false}};
input.addEventListener('input',apply);bar.append(input);
for(const [name,rest] of JSON.parse(bar.dataset.causes)){const b=document.createElement('button');
b.type='button';b.className='chip';b.setAttribute('aria-pressed','false');
const dot=document.createElement('i');dot.className='k '+name;b.append(dot,name+' '+rest);
b.addEventListener('click',()=>{const on=!causes.delete(name);if(on)causes.add(name);
b.setAttribute('aria-pressed',String(on));apply()});bar.append(b)}
bar.append(said);bar.hidden=false}
const go=()=>{const d=document.getElementById(location.hash.slice(1))?.closest('details');
if(d)d.open=true};addEventListener('hashchange',go);go();
let was=[];addEventListener('beforeprint',()=>{was=all('.card:not([open])');
for(const d of was)d.open=true});
addEventListener('afterprint',()=>{for(const d of was)d.open=false})})()
""".strip()
)


def _sheet() -> str:
    kinds = "".join(f"\n.{kind.name}{{color:var(--{kind.shade})}}" for kind in VERDICT_KINDS)
    fills = "".join(
        f"\n.map rect.{name}{{fill:{color}}}.k.{name}{{color:{color}}}"
        f".bar .{name}{{background:{color};color:#fff}}"
        for name, color in _FILLS.items()
    )
    return _STYLE + kinds + fills


STYLE = constant(_sheet())
