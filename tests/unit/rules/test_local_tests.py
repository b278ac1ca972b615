"""What only runs where a pointer is found to lead into local memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from lmemscope.model import KernelFacts
from tests.support.builders import attributed, depot, find, layers, ldl, objects_of, program
from tests.support.program import run_program

POINTER = """
ld.param.u64 %rd9, [k_param_0];
ld.u64 %rd1, [%rd9];
cvta.to.local.u64 %rd2, %rd1;
isspacep.local %p1, %rd1;
"""
WAYS = {
    "taken": "@%p1 bra YES;\natom.add.u32 %r1, [%rd1], 1;\nbra DONE;\nYES:\nACCESS\nDONE:\nret;",
    "passed by": "@!%p1 bra DONE;\nACCESS\nDONE:\nret;",
    "negated": "not.pred %p2, %p1;\n@%p2 bra DONE;\nACCESS\nDONE:\nret;",
    "predicated": "@%p1 ACCESS\nret;",
    "further on": "@!%p1 bra DONE;\nsetp.eq.u32 %p3, %r2, 0;\n@%p3 bra DONE;\nACCESS\nDONE:\nret;",
}
OTHERS = {
    "both ways": "@%p1 bra YES;\nmov.u32 %r2, 1;\nYES:\nACCESS\nret;",
    "the other way": "@%p1 bra DONE;\nACCESS\nDONE:\nret;",
    "negated twice": "not.pred %p2, %p1;\n@!%p2 bra DONE;\nACCESS\nDONE:\nret;",
    "one of two predicates": "setp.eq.u32 %p1, %r2, 0;\n@!%p1 bra DONE;\nACCESS\nDONE:\nret;",
    "nothing": "ACCESS\nret;",
}
ACCESS = "ld.local.u32 %r1, [%rd2];"


def is_behind_test(way: str) -> bool:
    objects = objects_of(f"{'' if 'depot' in way else POINTER}{way.replace('ACCESS', ACCESS)}")
    (access,) = (one for one in objects.accesses if not one.is_store)
    test = objects.foreign_test(access.index)
    return test is not None and test.opcode == "isspacep.local"


@pytest.mark.parametrize("way", WAYS)
def test_what_runs_only_for_local_pointers_is_known(way: str) -> None:
    assert is_behind_test(WAYS[way])


@pytest.mark.parametrize("way", OTHERS)
def test_what_also_runs_for_other_pointers_is_not_of_the_test(way: str) -> None:
    assert not is_behind_test(OTHERS[way])


def explained(way: str) -> KernelFacts:
    ptx = program(POINTER + way.replace("ACCESS", ACCESS))
    return attributed(layers(ptx, ldl("ld.local")))


def test_memory_of_nobody_is_explained_by_the_test() -> None:
    fact = explained(WAYS["taken"])
    (access,) = fact.accesses
    assert (access.cause, access.object) == ("address-taken", None)
    assert [one.kind for one in access.evidence_facts] == ["ptx-instruction", "local-test"]
    (finding,) = find(fact)
    assert (finding.severity, "isspacep.local" in finding.message) == ("note", True)
    assert "__builtin_assume(__isGlobal(pointer));" in finding.advice[1].text


def test_without_a_test_it_stays_unexplained() -> None:
    assert {one.cause for one in explained(OTHERS["nothing"]).accesses} == {"unattributed"}


def test_two_kinds_of_memory_are_not_told_as_one() -> None:
    fact = explained(WAYS["taken"])
    other = replace(fact.accesses[0], pc=64, evidence_facts=())
    (finding,) = find(replace(fact, accesses=(*fact.accesses, other)))
    assert finding.severity != "note"


def test_an_own_variable_behind_a_test_of_its_own_address_is_no_foreign_one() -> None:
    body = f"{depot(16)}\nadd.u64 %rd1, %SP, 0;\nadd.u64 %rd2, %SPL, 0;\n"
    body += "isspacep.local %p1, %rd1;\n@!%p1 bra DONE;\nACCESS\nDONE:\nret;"
    assert not is_behind_test(body)


TAKES = """\
#include <cuda/atomic>
struct Taken { unsigned value; bool is_new; };
struct Table { unsigned long long *keys; };
__device__ __forceinline__ Taken take(Table *table, unsigned long long key) {
  cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> slot(table->keys[key & 63]);
  unsigned long long expected = 0;
  const bool is_new = slot.compare_exchange_strong(expected, key);
  return Taken{(unsigned)expected, is_new};
}
__global__ void k(Table *table, const unsigned long long *x, unsigned *y) {
  const Taken taken = take(table, x[threadIdx.x]);
  y[threadIdx.x] = taken.value + taken.is_new;
}
"""


@pytest.mark.toolchain
@pytest.mark.parametrize("arch", ["sm_90", "sm_120"])
def test_what_a_library_gets_by_reference_has_no_other_variables_name(
    tmp_path: Path, arch: str
) -> None:
    (tmp_path / "a.cu").write_text(TAKES)
    done = run_program("scan", "a.cu", "--arch", arch, "--format", "json", cwd=tmp_path)
    (kernel,) = done.document["units"][0]["kernels"]
    found = [(one["cause"], one["object"]) for one in kernel["findings"]]
    assert found
    assert set(found) <= {("address-taken", None), ("address-taken", "expected")}
