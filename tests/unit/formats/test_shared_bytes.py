"""Static shared memory of code that is linked later, as its PTX has it."""

from __future__ import annotations

from lmemscope.formats.ptx import PtxModule

TEXT = b"""\
.version 8.0
.target sm_90
.address_size 64
.weak .shared .align 4 .b8 _ZZ1kILi9EE3big[36000];
.weak .shared .align 8 .b8 _ZZ1kILi9EE4big2[80];
.extern .shared .align 16 .b8 dynamic[];
.shared .align 4 .f32 one;
.visible .func helper() {
 .shared .align 4 .b8 own[12];
 mov.u32 %r1, own;
 ret;
}
.visible .entry k() {
 mov.u32 %r1, _ZZ1kILi9EE3big;
 mov.u32 %r2, dynamic;
 ret;
}
.visible .entry other() {
 mov.u32 %r1, one;
 mov.u32 %r2, _ZZ1kILi9EE4big2;
 ret;
}
"""


def test_what_functions_mention_counts_once_and_aligned() -> None:
    module = PtxModule(TEXT)
    assert module.shared_bytes(["k"]) == 36000
    assert module.shared_bytes(["k", "helper", "k"]) == 36012
    assert module.shared_bytes(["other"]) == 84
    assert module.shared_bytes(["helper", "missing"]) == 12
