"""Which variables and members an access is credited to: chosen pointers, volatile numbers, stores
that ptxas joins, copies that lambdas hold."""

from __future__ import annotations

from collections import Counter

import pytest

from lmemscope.api import scan
from lmemscope.model import KernelFacts, LocalObject

SOURCE = """
struct S { float a[8]; int n; float b[8]; float c[8]; };
#define FILL for (int i = 0; i < 8; i++) { s.a[i] = in[i]; s.b[i] = in[i + 8]; s.c[i] = in[i]; }
extern "C" __global__ void pick(const float *in, float *out, int n, int c) {
  S s; FILL
  float *p = c ? s.a : s.b, r = 0;
  for (int k = 0; k < n; k++) r += p[k & 7];  // pointer
  for (int k = 0; k < n; k++) r += s.c[(k * 3 + c) & 7];  // member
  out[threadIdx.x] = r;
}
extern "C" __global__ void pick_in_loop(const float *in, float *out, int n) {
  S s; FILL
  float *p, r = 0;
  for (int k = 0; k < n; k++) {
    switch ((int)in[k] & 3) {
      case 0: p = s.a; break;
      case 1: p = s.b + 2; break;
      default: p = s.b;
    }
    p[k & 3] += 1;  // pointer
    r += s.c[(int)in[k] & 7];  // member
  }
  out[threadIdx.x] = r + s.a[n & 7] + s.b[n & 7];
}
extern "C" __global__ void walk(const float *in, float *out, int n, int c) {
  S s; FILL
  float *p = c ? s.b : s.c, r = 0;
  for (int k = 0; k < n; k++) { r += *p; p++; }  // pointer
  out[threadIdx.x] = r + s.a[n & 7];  // member
}
extern "C" __global__ void exchange(const float *in, float *out, int n, int c) {
  S s; FILL
  float *from = s.a, *to = s.b;
  for (int k = 0; k < n; k++) {
    for (int i = 0; i < n; i++) to[i & 7] = from[(i + 1) & 7] * 2;  // pointer
    float *was = from; from = to; to = was;
  }
  out[threadIdx.x] = from[0] + s.c[(c + 1) & 7];
}
extern "C" __global__ void alias(const float *in, float *out, int n) {
  S s; FILL
  float *q = s.a, r = 0;
  for (int k = 0; k < n; k++) r += q[(k + 3) & 7];  // pointer
  for (int k = 0; k < n; k++) r += s.c[(int)in[k] & 7];  // member
  out[threadIdx.x] = r;
}
struct W { float table[4]; volatile int flag; };
extern "C" __global__ void mixed(const float *in, float *out, int n) {
  W w; w.flag = n;
  for (int i = 0; i < 4; i++) w.table[i] = in[i];
  float r = 0;
  for (int i = 0; i < n; i++) r += w.table[i & 3];
  out[threadIdx.x] = r + w.flag;
}
struct G { volatile int head; int tail; };
typedef volatile int Shared;
extern "C" __global__ void beside(int *out, int n) {
  volatile int t = n; G g; g.head = n; g.tail = n;
  for (int i = 0; i < n; i++) { t = t + g.head; g.head = t + 1; g.tail += t; }
  out[threadIdx.x] = g.head + g.tail + t;
}
struct R { volatile int a, b, c; };
extern "C" __global__ void pieces(int *out, const int *in) {
  volatile int before = in[3]; R r; Shared behind = in[4];
  r.a = in[0]; r.b = in[1]; r.c = in[2];
  out[0] = r.a + before; out[1] = r.b + behind; out[2] = r.c + before + behind;
}
extern "C" __global__ void one_flag(int *out, int n) {
  W w; w.flag = n; w.flag = w.flag + 1;
  out[threadIdx.x] = w.flag;
}
extern "C" __global__ void tables(const int *in, int *out, int n) {
  int a[3] = {0, 0, 0}; int b[13] = {};
  for (int i = 0; i < n; i++) { a[in[i] % 3]++; b[in[i + n] % 13] += 2; }
  out[n] = a[n % 3] + b[(n + 1) % 13];
}
struct Table { float w[16]; int n; };
extern "C" __global__ void captured(const float *in, const int *idx, float *out, int n) {
  Table t; t.n = n;
  for (int i = 0; i < 16; i++) t.w[i] = in[i];
  auto f = [copy = t](int j) { return copy.w[(j * copy.n) & 15]; };  // pointer
  float r = 0;
  for (int i = 0; i < n; i++) r += f(idx[i]);
  out[threadIdx.x] = r;
}
"""
LINES = SOURCE.splitlines()


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, KernelFacts]:
    """The kernels above, by name."""
    file = tmp_path_factory.mktemp("objects") / "a.cu"
    file.write_text(SOURCE)
    return {one.facts.name: one.facts for one in scan(file).units[0].kernels}


def objects(facts: KernelFacts) -> dict[str | None, LocalObject]:
    """A kernel's objects by name; each has one."""
    assert len({one.name for one in facts.objects}) == len(facts.objects)
    return {one.name: one for one in facts.objects}


def credited(facts: KernelFacts, mark: str) -> set[str]:
    """What the accesses of a kernel's lines with a mark are credited to."""
    found: set[str] = set()
    for access in facts.accesses:
        line = access.chain[0].location.line if access.chain else 0
        if line and LINES[line - 1].endswith(f"// {mark}"):
            names = sorted(str(facts.objects[number].name) for number in access.touched)
            found.add(" or ".join(names))
    return found


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("kernel", "pointer", "member"),
    [
        ("pick", {"s.a or s.b"}, {"s.c"}),
        ("pick_in_loop", {"s.a or s.b"}, {"s.c"}),
        ("walk", {"s.b or s.c"}, {"s.a"}),
        ("exchange", {"s.a or s.b"}, set()),
        ("alias", {"s.a"}, {"s.c"}),
        ("captured", {"copy.w", "f"}, set()),
    ],
)
def test_an_access_is_of_what_its_pointer_may_lead_to(
    kernels: dict[str, KernelFacts], kernel: str, pointer: set[str], member: set[str]
) -> None:
    assert credited(kernels[kernel], "pointer") == pointer
    assert credited(kernels[kernel], "member") == member


@pytest.mark.toolchain
def test_a_member_has_the_cause_of_its_own_accesses(kernels: dict[str, KernelFacts]) -> None:
    found = objects(kernels["mixed"])
    assert found["w.table"].cause == "dynamic-index"
    assert found["w"].cause == "volatile"
    # Each byte has one cause, that of the object that it is counted for.
    listed = kernels["mixed"].objects
    shares = [one for one in kernels["mixed"].causes if one.object_index is not None]
    assert all(listed[one.object_index or 0].cause == one.cause for one in shares)


@pytest.mark.toolchain
def test_a_volatile_number_is_no_part_of_a_structure_beside_it(
    kernels: dict[str, KernelFacts],
) -> None:
    sizes = {name: one.size for name, one in objects(kernels["beside"]).items()}
    assert sizes == {"t": 4, "g": 4}
    loads: Counter[str | None] = Counter()
    for access in kernels["beside"].accesses:
        if not access.is_store and access.object is not None:
            loads[kernels["beside"].objects[access.object].name] += 1
    assert loads["t"] > 2 * loads["g"]


@pytest.mark.toolchain
def test_pieces_of_a_structure_between_volatile_numbers_are_one_object(
    kernels: dict[str, KernelFacts],
) -> None:
    sizes = {name: one.size for name, one in objects(kernels["pieces"]).items()}
    assert sizes == {"before": 4, "r": 12, "behind": 4}


@pytest.mark.toolchain
def test_what_is_volatile_is_no_plain_number_on_its_line(kernels: dict[str, KernelFacts]) -> None:
    (only,) = kernels["one_flag"].objects
    assert (only.name, only.size, only.type_size, only.extent) == ("w", 4, 20, "part")


@pytest.mark.toolchain
def test_a_store_over_the_end_of_a_table_is_both_tables(kernels: dict[str, KernelFacts]) -> None:
    facts = kernels["tables"]
    joined = [one for one in facts.accesses if one.joined]
    assert joined
    for access in joined:
        assert {facts.objects[number].name for number in access.touched} == {"a", "b"}
        assert access.is_store
        assert access.width > 4
    assert not any(one.others for one in facts.accesses if not one.joined)
    moved = sum(share.load_bytes + share.store_bytes for share in facts.causes)
    assert moved == sum(access.width for access in facts.accesses)
