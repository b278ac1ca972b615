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
const apply=()=>{const words=input.value.toLowerCase().split(/\s+/).filter(Boolean);let shown=0;
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
