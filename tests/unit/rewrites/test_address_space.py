"""Code that tells pointers by the memory that they lead to keeps a variable where it is."""

from __future__ import annotations

import pytest

from lmemscope.rewrites import proposals
from tests.support.rewriting import kernel, target

MOVED = {"shared-memory", "shared-row", "static-table"}
TABLE = kernel("const int a[8] = {1, 2, 4, 8, 16, 32, 64, 128};", "out[0] = a[p[0] & 7];")
FILLED = kernel("int a[8];", "a[n] = 1;", "out[0] = a[p[0] & 7];")


WHY = "which memory a pointer leads to"


def moved(text: str, cause: str) -> set[str]:
    found, _ = proposals(target(text, "a", "int[8]", cause))  # type: ignore[arg-type]
    return {one.rewrite for one in found} & MOVED


@pytest.mark.parametrize(
    "asking",
    [
        "return __isShared(p) ? 1 : 0;",
        "return __isGlobal(p);",
        "return __isGridConstant(p);",
        "return __nv_isClusterShared_impl(p);",
        "return ASK(Shared)(p);\n}\n#define ASK(space) __is##space\nvoid g() {",
        "return cuda::device::is_address_from(p, cuda::device::address_space::shared);",
        "return cuda::device::is_object_from(*p, SPACE);",
        "return __nvvm_isspacep_shared(p);",
        'int v; asm("isspacep.global q, %1;" : "=r"(v) : "l"(p)); return v;',
        'int v; asm("cvta.to.local.u64 a, %1;" : "=r"(v) : "l"(p)); return v;',
        'int v; asm("cvta.to." SPACE ".u64 a, %1;" : "=r"(v) : "l"(p)); return v;',
        'int v; asm("ld.volatile.local.u32 %0, [%1];" : "=r"(v) : "l"(p)); return v;',
        'int v; asm("ld" HOW ".local.u32 %0, [%1];" : "=r"(v) : "l"(p)); return v;',
        "return (int)__cvta_generic_to_local(p);",
    ],
)
def test_a_variable_stays_where_its_address_may_be_told(asking: str) -> None:
    before = f"__device__ int ask(const int *p) {{ {asking} }}\n"
    assert moved(before + FILLED, "address-taken") == set()
    given = TABLE.replace("a[p[0] & 7]", "ask(&a[p[0] & 7])")
    assert moved(before + given, "const-table") == set()
    assert "static-table" in moved(before + TABLE, "const-table"), "whose values alone are read"
    _, reasons = proposals(target(before + given, "a", "int[8]", "const-table"))
    (told,) = (one.rewrites for one in reasons if WHY in one.reason)
    assert "static-table" in told


@pytest.mark.parametrize(
    "other",
    [
        "return p[0];",
        "return __isnan(p[0]);",
        "return state.local;",
        'int v; asm("cvta.to.shared.u64 a, %1;" : "=r"(v) : "l"(p)); return v;',
        "return (int)__cvta_generic_to_shared(p);",
    ],
)
def test_what_asks_for_another_thing_does_not_count(other: str) -> None:
    before = f"__device__ int ask(const int *p) {{ {other} }}\n"
    assert moved(before + FILLED, "address-taken") & {"shared-memory", "shared-row"}
    assert "static-table" in moved(before + TABLE, "const-table")
