"""Functions that the host's compiler reads too: no shared memory and no static table in them."""

from __future__ import annotations

import msgspec
import pytest

from lmemscope.rewrites import proposals
from lmemscope.rewrites.arrays import is_for_host
from tests.support.rewriting import target

BODY = "{\n  float a[8];\n  a[n] = 1.f;\n  return a[0];\n}\n"


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("__device__ float f(int n)", False),
        ("__device__ __forceinline__ unsigned f(int n)", False),
        ("template <class T> __device__ inline Value<T> f(int n)", False),
        ("#define INLINE __forceinline__\n__device__ INLINE float f(int n)", False),
        ("__host__ __device__ float f(int n)", True),
        ("#define ALSO __host__\n__device__ ALSO float f(int n)", True),
        ("#define HOST __host__\n#define ALSO HOST\n__device__ ALSO float f(int n)", True),
        ("__device__ ALSO float f(int n)", True),
        ("__host__ __device__ float f(int n);\n__device__ float f(int n)", True),
        ("float f(int n)", True),
    ],
)
def test_a_function_is_the_hosts_where_a_macro_may_say_so(head: str, expected: bool) -> None:
    given = target(f"{head} {BODY}", "a", "float[8]")
    assert given.declared is not None
    assert is_for_host(given, given.declared) is expected


def test_a_header_that_the_host_may_read_is_the_reason_of_all_that_needs_cuda() -> None:
    given = target(f"inline float f(int n) {BODY}", "a", "float[8]")
    header = msgspec.structs.replace(given, path="/p/a.cuh")
    made, declined = proposals(header)
    assert not made
    reasons = {name: one.reason for one in declined for name in one.rewrites}
    assert reasons["shared-memory"] == "host code may include its header, too"


BOTH = "#ifdef __CUDACC__\n#define HD __host__ __device__\n#else\n#define HD\n#endif\n"


@pytest.mark.parametrize(
    ("head", "path", "expected"),
    [
        (f"{BOTH}HD inline float f(int n)", "/p/a.cuh", True),
        (f"{BOTH}template <class T> HD inline float f(int n)", "/p/a.h", True),
        (f"#include <cstdint>\n{BOTH}HD inline float f(int n)", "/p/a.h", True),
        (f"#include <stdint.h>\n{BOTH}HD inline float f(int n)", "/p/a.h", False),
        # No word of C++ is in sight, so that C may include it.
        (f"{BOTH}HD inline float f(int n)", "/p/a.h", False),
        (f"{BOTH}inline float f(int n)", "/p/a.cuh", False),
        ("#define HD __host__ __device__\nHD inline float f(int n)", "/p/a.cuh", False),
        (f"{BOTH}#define HD static\nHD inline float f(int n)", "/p/a.cuh", False),
        (BOTH.replace("__host__ ", "") + "HD inline float f(int n)", "/p/a.cuh", False),
    ],
)
def test_a_class_is_for_both_where_a_macro_says_so_to_both(
    head: str, path: str, expected: bool
) -> None:
    given = target(f"{head} {BODY}", "a", "float[8]")
    made, declined = proposals(msgspec.structs.replace(given, path=path))
    found = {one.rewrite: b"".join(edit.text for edit in one.edits) for one in made}
    assert ("select" in found) == expected
    assert "shared-memory" not in found
    if expected:
        assert b"HD Element set(" in found["select"]
        assert b"__CUDACC__" not in found["select"]
    reasons = {name: one.reason for one in declined for name in one.rewrites}
    assert reasons["shared-memory"] == "host code may include its header, too"
