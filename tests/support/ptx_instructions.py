"""Instructions \
of PTX, each with the registers that it defines and reads (PTX ISA 9, section 9.7)."""

from __future__ import annotations

import re

# Instruction | registers it defines | registers it reads, %p1 standing for a predicate.
COMPUTED = """
abs.s32 %r1, %r2 | r1 | r2
add.u64 %rd1, %rd2, 4 | rd1 | rd2
add.rn.f32.bf16 %f1, %h1, %f2 | f1 | h1 f2
add.cc.u32 %r1, %r2, %r3 | r1 cc.cf | r2 r3
addc.cc.u32 %r1, %r2, %r3 | r1 cc.cf | r2 r3 cc.cf
sub.s32 %r1, %r2, %r3 | r1 | r2 r3
sub.cc.u32 %r1, %r2, %r3 | r1 cc.cf | r2 r3
subc.u32 %r1, %r2, 0 | r1 | r2 cc.cf
mul.wide.u32 %rd1, %r2, 8 | rd1 | r2
mul24.lo.u32 %r1, %r2, %r3 | r1 | r2 r3
mad.lo.s32 %r1, %r2, %r3, %r4 | r1 | r2 r3 r4
mad.lo.cc.u32 %r1, %r2, %r3, %r1 | r1 cc.cf | r2 r3 r1
madc.hi.u32 %r1, %r2, %r3, 0 | r1 | r2 r3 cc.cf
mad24.lo.u32 %r1, %r2, %r3, %r4 | r1 | r2 r3 r4
sad.u32 %r1, %r2, %r3, %r4 | r1 | r2 r3 r4
div.s32 %r1, %r2, %r3 | r1 | r2 r3
rem.s32 %r1, %r2, 3 | r1 | r2
neg.s32 %r1, %r2 | r1 | r2
min.s32 %r1, %r2, %r3 | r1 | r2 r3
max.f32 %f1, %f2, %f3, %f4 | f1 | f2 f3 f4
popc.b32 %r1, %r2 | r1 | r2
clz.b64 %r1, %rd2 | r1 | rd2
bfind.shiftamt.u32 %r1, %r2 | r1 | r2
fns.b32 %r1, %r2, %r3, %r4 | r1 | r2 r3 r4
brev.b32 %r1, %r2 | r1 | r2
bfe.u32 %r1, %r2, 8, 8 | r1 | r2
bfi.b32 %r1, %r2, %r3, 8, 8 | r1 | r2 r3
bmsk.clamp.b32 %r1, %r2, %r3 | r1 | r2 r3
szext.clamp.s32 %r1, %r2, %r3 | r1 | r2 r3
dp4a.u32.u32 %r1, %r2, %r3, %r4 | r1 | r2 r3 r4
dp2a.lo.u32.u32 %r1, %r2, %r3, %r4 | r1 | r2 r3 r4
testp.infinite.f32 %p1, %f2 | p1 | f2
copysign.f32 %f1, %f2, %f3 | f1 | f2 f3
fma.rn.f32 %f1, %f2, %f3, %f1 | f1 | f2 f3 f1
fma.rn.f32x2 %rd1, %rd2, %rd3, %rd4 | rd1 | rd2 rd3 rd4
rcp.rn.f32 %f1, %f2 | f1 | f2
sqrt.rn.f64 %d1, %d2 | d1 | d2
rsqrt.approx.f32 %f1, %f2 | f1 | f2
sin.approx.f32 %f1, %f2 | f1 | f2
cos.approx.f32 %f1, %f2 | f1 | f2
lg2.approx.f32 %f1, %f2 | f1 | f2
ex2.approx.f32 %f1, %f2 | f1 | f2
tanh.approx.f32 %f1, %f2 | f1 | f2
set.gt.u32.f32 %r1, %f2, %f3 | r1 | f2 f3
setp.lt.s32 %p1, %r2, %r3 | p1 | r2 r3
setp.lt.and.s32 %p1|%p2, %r2, %r3, !%p3 | p1 p2 | r2 r3 p3
setp.gt.f16x2 %p1|%p2, %r2, %r3 | p1 p2 | r2 r3
selp.b32 %r1, %r2, %r3, %p1 | r1 | r2 r3 p1
slct.f32.s32 %f1, %f2, %f3, %r1 | f1 | f2 f3 r1
and.pred %p1, %p2, %p3 | p1 | p2 p3
or.b32 %r1, %r2, %r3 | r1 | r2 r3
xor.b32 %r1, %r1, 1 | r1 | r1
not.b32 %r1, %r2 | r1 | r2
cnot.b32 %r1, %r2 | r1 | r2
lop3.b32 %r1, %r2, %r3, %r4, 0x80 | r1 | r2 r3 r4
lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 0x80, %p2 | r1 p1 | r2 r3 r4 p2
shf.l.wrap.b32 %r1, %r2, %r3, %r4 | r1 | r2 r3 r4
shl.b32 %r1, %r2, %r3 | r1 | r2 r3
shr.s32 %r1, %r2, 5 | r1 | r2
mov.u32 %r1, %tid.x | r1 | tid.x
mov.b64 {%r1, %r2}, %rd3 | r1 r2 | rd3
mov.b64 {%r1, _}, %rd3 | r1 | rd3
mov.b64 %rd1, {%r2, %r3} | rd1 | r2 r3
mov.u32 %v1.x, %r2 | v1 | v1 r2
mov.u32 %r1, %v2.y | r1 | v2
prmt.b32 %r1, %r2, %r3, 0x5410 | r1 | r2 r3
cvt.rn.f32.s32 %f1, %r2 | f1 | r2
cvt.pack.sat.u8.s32.b32 %r1, %r2, %r3, %r4 | r1 | r2 r3 r4
cvta.to.global.u64 %rd1, %rd2 | rd1 | rd2
isspacep.shared %p1, %rd2 | p1 | rd2
mapa.shared::cluster.u32 %r1, %r2, %r3 | r1 | r2 r3
getctarank.shared::cluster.u32 %r1, %r2 | r1 | r2
createpolicy.fractional.L2::evict_last.b64 %rd1, 0f3F800000 | rd1 |
createpolicy.range.global.L2::evict_last.b64 %rd1, [%rd2], %r1, %r2 | rd1 | rd2 r1 r2
createpolicy.cvt.L2.b64 %rd1, %rd2 | rd1 | rd2
istypep.texref %p1, %rd2 | p1 | rd2
clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %rq1 | p1 | rq1
clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r1, %r2, _, _}, %rq1 | r1 r2 | rq1
vadd.u32.u32.u32 %r1, %r2.b0, %r3.h1, %r4 | r1 | r2 r3 r4
vadd.u32.u32.u32 %r1.h0, %r2, %r3, %r4 | r1 | r1 r2 r3 r4
vsub.s32.s32.s32 %r1, %r2, %r3 | r1 | r2 r3
vabsdiff.u32.u32.u32.add %r1, %r2, %r3, %r4 | r1 | r2 r3 r4
vmin.s32.s32.s32 %r1, %r2, %r3 | r1 | r2 r3
vmax.s32.s32.s32 %r1, %r2, %r3 | r1 | r2 r3
vshl.u32.u32.u32.clamp %r1, %r2, %r3 | r1 | r2 r3
vshr.u32.u32.u32.wrap %r1, %r2, %r3 | r1 | r2 r3
vmad.u32.u32.u32 %r1, %r2.h0, -%r3.h1, %r4 | r1 | r2 r3 r4
vset.u32.u32.lt %r1, %r2, %r3 | r1 | r2 r3
"""
STACK = """
alloca.u64 %rd1, %rd2, 16 | rd1 | rd2
stacksave.u64 %rd1 | rd1 |
"""
MEMORY = """
ld.global.v2.u32 {%r1, %r2}, [%rd3+8] | r1 r2 | rd3
ld.global.L2::cache_hint.u32 %r1, [%rd3], %rd4 | r1 | rd3 rd4
ld.param.u64 %rd1, [k_param_0] | rd1 |
ldu.global.f32 %f1, [%rd3] | f1 | rd3
st.global.v2.u32 [%rd1], {%r2, %r3} | | rd1 r2 r3
st.param.b32 [param0], %r1 | | r1
st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3] | | r1 r2 r3
st.bulk.weak.shared::cta [%rd1], %rd2, 0 | | rd1 rd2
prefetch.global.L2 [%rd1] | | rd1
prefetch.const.tensormap [%rd1] | | rd1
prefetchu.L1 [%rd1] | | rd1
applypriority.global.L2::evict_normal [%rd1], 128 | | rd1
discard.global.L2 [%rd1], 128 | | rd1
cp.async.ca.shared.global [%r1], [%rd2], 16, %r3 | | r1 rd2 r3
cp.async.commit_group | |
cp.async.wait_group 0 | |
cp.async.wait_all | |
cp.async.mbarrier.arrive.shared::cta.b64 [%r1] | | r1
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes \
[%r1], [%rd2], %r3, [%r4] | | r1 rd2 r3 r4
cp.async.bulk.prefetch.L2.global [%rd1], %r2 | | rd1 r2
cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r2, %r3}], [%r4] | | rd1 r2 r3 r4
cp.async.bulk.commit_group | |
cp.async.bulk.wait_group.read 0 | |
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r2], %r3 | | rd1 r2 r3
tensormap.replace.tile.rank.global.b1024.b32 [%rd1], %r2 | | rd1 r2
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned \
[%rd1], [%r2], 128 | | rd1 r2
multimem.ld_reduce.global.add.u32 %r1, [%rd2] | r1 | rd2
multimem.st.global.u32 [%rd1], %r2 | | rd1 r2
multimem.red.global.add.u32 [%rd1], %r2 | | rd1 r2
multimem.cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], %r3 | | rd1 r2 r3
tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1, %r2}] | f1 f2 f3 f4 | rd1 r1 r2
tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}|%p1, [%rd1, {%r1, %r2}] | f1 f2 f3 f4 p1 | rd1 r1 r2
tld4.r.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}] | f1 f2 f3 f4 | rd1 f5 f6
txq.width.b32 %r1, [%rd2] | r1 | rd2
suld.b.1d.b32.trap %r1, [%rd2, {%r3}] | r1 | rd2 r3
sust.b.1d.b32.trap [%rd2, {%r3}], %r1 | | rd2 r3 r1
sured.b.add.1d.u32.trap [%rd2, {%r3}], %r1 | | rd2 r3 r1
suq.width.b32 %r1, [%rd2] | r1 | rd2
atom.global.add.u32 %r1, [%rd2], %r3 | r1 | rd2 r3
atom.global.cas.b32 %r1, [%rd2], %r3, %r4 | r1 | rd2 r3 r4
atom.global.add.u32 _, [%rd2], %r3 | | rd2 r3
atom.global.v2.f32.add {%f1, %f2}, [%rd2], {%f3, %f4} | f1 f2 | rd2 f3 f4
red.global.add.u32 [%rd1], %r2 | | rd1 r2
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 \
[%r1], %r2, [%r3] | | r1 r2 r3
mbarrier.init.shared::cta.b64 [%r1], %r2 | | r1 r2
mbarrier.inval.shared::cta.b64 [%r1] | | r1
mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], %r2 | | r1 r2
mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r1], %r2 | | r1 r2
mbarrier.arrive.shared::cta.b64 %rd1, [%r2], %r3 | rd1 | r2 r3
mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2] | | r2
mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [%r2], %r3 | rd1 | r2 r3
mbarrier.arrive_drop.shared::cta.b64 %rd1, [%r2] | rd1 | r2
mbarrier.test_wait.shared::cta.b64 %p1, [%r2], %rd3 | p1 | r2 rd3
mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], %r3, %r4 | p1 | r2 r3 r4
mbarrier.pending_count.b64 %r1, %rd2 | r1 | rd2
ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%r3] | r1 r2 | r3
stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r3], {%r1, %r2} | | r3 r1 r2
wmma.load.c.sync.aligned.row.m8n8k32.s32 {%r1, %r2}, [%rd3], %r4 | r1 r2 | rd3 r4
wmma.store.d.sync.aligned.row.m8n8k32.s32 [%rd3], {%r1, %r2}, %r4 | | rd3 r1 r2 r4
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], %r2 | | r1 r2
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, %r2 | | r1 r2
tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned | |
tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2}, [%r3] | r1 r2 | r3
tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32 {%r1, %r2}, %r4, [%r3] | r1 r2 r4 | r3
tcgen05.st.sync.aligned.32x32b.x2.b32 [%r3], {%r1, %r2} | | r3 r1 r2
tcgen05.wait::ld.sync.aligned | |
tcgen05.cp.cta_group::1.128x256b [%r1], %rd2 | | r1 rd2
tcgen05.shift.cta_group::1.down [%r1] | | r1
tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd2, %rd3, %r4, %p1 | | r1 rd2 rd3 r4 p1
tcgen05.mma.cta_group::1.kind::f16 \
[%r1], [%r2], %rd3, %r4, {%r5, %r6, %r7, %r8}, %p1 | | r1 r2 rd3 r4 r5 r6 r7 r8 p1
tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%rd1] | | rd1
tcgen05.fence::before_thread_sync | |
clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 \
[%r1], [%r2] | | r1 r2
"""
THREADS = """
shfl.sync.idx.b32 %r1|%p1, %r2, %r3, 31, -1 | r1 p1 | r2 r3
shfl.sync.bfly.b32 %r1, %r2, 1, 31, %r3 | r1 | r2 r3
vote.sync.ballot.b32 %r1, %p1, -1 | r1 | p1
vote.sync.any.pred %p1, !%p2, -1 | p1 | p2
match.all.sync.b32 %r1|%p1, %r2, %r3 | r1 p1 | r2 r3
match.any.sync.b32 %r1, %r2, -1 | r1 | r2
activemask.b32 %r1 | r1 |
redux.sync.add.s32 %r1, %r2, -1 | r1 | r2
elect.sync %r1|%p1, -1 | r1 p1 |
elect.sync _|%p1, %r2 | p1 | r2
bar.red.popc.u32 %r1, 0, %p1 | r1 | p1
barrier.cta.red.and.pred %p1, %r1, %r2, !%p2 | p1 | r1 r2 p2
mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 \
{%r1, %r2}, {%r3}, {%r4}, {%r5, %r6} | r1 r2 | r3 r4 r5 r6
movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2 | r1 | r2
wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32 \
{%r1, %r2}, {%r3}, {%r4}, {%r5, %r6} | r1 r2 | r3 r4 r5 r6
wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 \
{%r1, %r2}, %rd1, %rd2, %p1, 1, 1, 0, 0 | r1 r2 | r1 r2 rd1 rd2 p1
call (retval0), f, (param0) | |
call (%r1), h, (%r2, %r3) | r1 | r2 r3
call g, (param0) | |
call (retval0), %rd1, (param0), prototype_0 | | rd1
call.uni e | |
"""
NOTHING = """
bra $L_1 | |
bra.uni $L_1 | |
@%p1 bra $L_1 | | p1
@!%p1 bra $L_1 | | p1
brx.idx %r1, $L_table | | r1
brx.idx.uni %r1, $L_table | | r1
ret | |
@%p1 ret | | p1
exit | |
bar.sync 0 | |
bar.sync %r1, %r2 | | r1 r2
bar.arrive %r1, 64 | | r1
bar.warp.sync %r1 | | r1
barrier.sync %r1 | | r1
barrier.sync.aligned %r1, %r2 | | r1 r2
barrier.cta.arrive %r1, %r2 | | r1 r2
barrier.cluster.arrive.release.aligned | |
barrier.cluster.wait.acquire | |
membar.gl | |
fence.acq_rel.gpu | |
fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128 | | rd1
griddepcontrol.wait | |
stackrestore.u64 %rd1 | | rd1
nanosleep.u32 %r1 | | r1
pmevent 7 | |
pmevent.mask 3 | |
trap | |
brkpt | |
setmaxnreg.inc.sync.aligned.u32 232 | |
wgmma.fence.sync.aligned | |
wgmma.commit_group.sync.aligned | |
wgmma.wait_group.sync.aligned 0 | |
"""
PACKED = "".join(
    f"v{name}{width}.u32.u32.{kind} %r1, %r2, %r3, %r4 | r1 | r2 r3 r4\n"
    for width in (2, 4)
    for name, kind in (
        *((name, "u32") for name in ("add", "sub", "avrg", "absdiff", "min", "max")),
        ("set", "lt"),
    )
)


def cases(table: str) -> list[list[str]]:
    """Instruction, definitions and reads of each row."""
    rows = filter(None, table.split("\n"))
    return [[part.strip() for part in re.split(r" \|(?= |$)", row)] for row in rows]


ALL = [row for table in (COMPUTED, PACKED, STACK, MEMORY, THREADS, NOTHING) for row in cases(table)]
