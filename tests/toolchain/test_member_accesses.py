"""Which member of a structure machine code stores to where PTX copies the whole in a loop."""

from __future__ import annotations

from collections import Counter

import pytest

from lmemscope.api import scan
from lmemscope.model import KernelFacts

SOURCE = """
struct S { float mass[12]; float charge[8]; int n; float pad[20]; };
struct T { int a[8], b[8]; };
extern "C" __global__ void copied(S s, float *q, int i, int j) {
  q[0] = s.mass[i % 12];
  s.charge[j & 7] = 3.0f;
  q[1] = s.charge[i & 7] + s.n + s.pad[i % 20];
}
extern "C" __global__ void one_member(S s, float *q, int i, int j) {
  s.mass[j % 12] = q[3];
  for (int k = 0; k < i; ++k) q[k] = s.mass[k % 12] + s.n;
}
extern "C" __global__ void cleared(int *q, int i, int j) {
  T t = {};
  t.a[i & 7] = 3;
  t.b[j & 7] = 4;
  for (int k = 0; k < i; ++k) q[k] = t.a[k & 7] + t.b[q[k] & 7];
}
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, KernelFacts]:
    """The kernels above, by name."""
    file = tmp_path_factory.mktemp("members") / "a.cu"
    file.write_text(SOURCE)
    return {one.facts.name: one.facts for one in scan(file).units[0].kernels}


def stored(facts: KernelFacts) -> Counter[str]:
    """Bytes of stores without an index, by what they are credited to."""
    found: Counter[str] = Counter()
    for one in facts.accesses:
        if one.is_store and not one.chain:
            names = (str(facts.objects[number].name) for number in one.touched)
            found[" ".join(sorted(names))] += one.width
    return found


@pytest.mark.toolchain
def test_each_store_of_a_copy_is_the_members_that_lies_there(
    kernels: dict[str, KernelFacts],
) -> None:
    found = stored(kernels["copied"])
    assert sum(found.values()) == 164
    assert found["s.mass"] == 48
    assert found["s.charge"] == 32
    # The one store that s.n is in may take the first element behind it with it.
    assert found["s.pad"] + found["s s.pad"] + found["s"] == 84
    assert found["s.pad"] >= 76


@pytest.mark.toolchain
def test_what_lies_behind_the_one_indexed_member_is_the_structures(
    kernels: dict[str, KernelFacts],
) -> None:
    assert stored(kernels["one_member"]) == {"s.mass": 48, "s": 116}


@pytest.mark.toolchain
def test_a_structure_that_is_cleared_is_both_its_arrays(kernels: dict[str, KernelFacts]) -> None:
    facts = kernels["cleared"]
    wide: Counter[str] = Counter()
    for one in facts.accesses:
        if one.is_store and one.width > 4:
            (number,) = one.touched
            wide[str(facts.objects[number].name)] += one.width
    assert wide == {"t.a": 32, "t.b": 32}
