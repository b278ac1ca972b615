"""Whether all lanes of a warp come to a shuffle, told from PTX."""

from __future__ import annotations

import pytest

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.convergence import parted_shuffles
from tests.support.builders import program

SHUFFLE = "shfl.sync.idx.b32 %r9|%p9, %r8, %r7, 31, -1;"
HEAD = """
ld.param.u64 %rd1, [k_param_0];
ld.param.u32 %r1, [k_param_1];
mov.u32 %r2, %tid.x;
ld.u32 %r3, [%rd1];
setp.lt.u32 %p1, %r2, 16;
setp.lt.u32 %p2, %r1, 16;
"""
LEAVES = ".reg .pred %p1; setp.eq.u32 %p1, %r1, 0; @%p1 exit; ret;"
TOGETHER = {
    "straight": "SHUFFLE\nret;",
    "all lanes' condition": "@%p2 bra DONE;\nSHUFFLE\nDONE:\nret;",
    "behind a join": "@%p1 bra ON;\nadd.u32 %r4, %r4, 1;\nON:\nSHUFFLE\nret;",
    "behind a loop of each lane's": (
        "LOOP:\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p3, %r5, %r2;\n@%p3 bra LOOP;\nSHUFFLE\nret;"
    ),
    "in a loop of all lanes'": (
        "LOOP:\nSHUFFLE\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p3, %r5, %r1;\n@%p3 bra LOOP;\nret;"
    ),
    "before what parts": "SHUFFLE\n@%p1 exit;\nret;",
    "a barrier of all": "bar.sync 0;\nSHUFFLE\nret;",
    "a barrier that some only arrive at": "@%p1 bra ON;\nbar.arrive 1, 64;\nON:\nSHUFFLE\nret;",
    "an mbarrier made and arrived at": (
        "@%p1 bra ON;\nmbarrier.init.shared.b64 [%r1], 32;\nmbarrier.arrive.shared.b64 _, [%r1];\n"
        "ON:\nSHUFFLE\nret;"
    ),
    "what a whole warp waits for": (
        "wgmma.fence.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nSHUFFLE\nret;"
    ),
    "a plain function": "call.uni plain, ();\nSHUFFLE\nret;",
    "a print": "call.uni vprintf, ();\nSHUFFLE\nret;",
    "of some lanes": "@%p1 bra DONE;\nshfl.sync.idx.b32 %r9|%p9, %r8, %r7, 31, 65535;\nDONE:\nret;",
}
PARTED = {
    "what lanes vote": "vote.sync.ballot.b32 %r5, %p2, 3;\nSHUFFLE\nret;",
    "a barrier of a mask": "bar.warp.sync 3;\nSHUFFLE\nret;",
    "a condition out of memory": (
        "setp.lt.u32 %p3, %r3, 16;\n@%p3 bra DONE;\nSHUFFLE\nDONE:\nret;"
    ),
    "a warp's number, in a block of rows": (
        "shr.u32 %r5, %r2, 5;\nsetp.ne.u32 %p3, %r5, 0;\n@%p3 bra DONE;\nSHUFFLE\nDONE:\nret;"
    ),
    "a function that waits": "call.uni waits, ();\nSHUFFLE\nret;",
    "a function that calls another": "call.uni calls, ();\nSHUFFLE\nret;",
    "each lane's condition": "@%p1 bra DONE;\nSHUFFLE\nDONE:\nret;",
    "predicated": "@%p1 SHUFFLE\nret;",
    "left by some": "@%p1 exit;\nSHUFFLE\nret;",
    "returned by some": "@%p1 ret;\nSHUFFLE\nret;",
    "in a loop of each lane's": (
        "LOOP:\nSHUFFLE\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p3, %r5, %r2;\n@%p3 bra LOOP;\nret;"
    ),
    "behind one that waits": (
        "LOOP:\nld.volatile.u32 %r5, [%rd1];\nsetp.ne.u32 %p3, %r5, 0;\n@%p3 bra LOOP;\n"
        "SHUFFLE\nret;"
    ),
    "behind one that asks an atomic": (
        "LOOP:\natom.exch.b32 %r5, [%rd1], 1;\nsetp.ne.u32 %p3, %r5, 0;\n@%p3 bra LOOP;\n"
        "SHUFFLE\nret;"
    ),
    "a barrier in memory that some wait for": (
        "@%p1 bra ON;\nmbarrier.try_wait.shared.b64 %p3, [%r1], %rd2;\nON:\nSHUFFLE\nret;"
    ),
    "what a whole warp waits for, of some": (
        "@%p1 bra ON;\nwgmma.fence.sync.aligned;\nON:\nSHUFFLE\nret;"
    ),
    "a barrier of some": "@%p1 bra ON;\nbar.warp.sync -1;\nON:\nSHUFFLE\nret;",
    "a function that ends threads": "call.uni leaves, ();\nSHUFFLE\nret;",
    "a function that is not seen": "call.uni hidden, ();\nSHUFFLE\nret;",
}


WAITS = "bar.warp.sync 3;\nret;"
PLAIN = "add.u32 %r1, %r1, 1;\nret;"


def parted(body: str) -> int:
    ptx = program(
        HEAD + body.replace("SHUFFLE", SHUFFLE),
        leaves=LEAVES,
        waits=WAITS,
        plain=PLAIN,
        calls="call.uni plain, ();\nret;",
    )
    return parted_shuffles(ModuleFlow(ptx), "k")


@pytest.mark.parametrize("body", TOGETHER)
def test_all_lanes_come_there(body: str) -> None:
    assert parted(TOGETHER[body]) == 0


@pytest.mark.parametrize("body", PARTED)
def test_some_may_not_come_there(body: str) -> None:
    assert parted(PARTED[body]) == 1
