"""Which lanes share ``threadIdx``: what launches and objects tell of an access's cost."""

from __future__ import annotations

import pytest

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.uniformity import places_in, sectors_per_request
from lmemscope.api import scan
from lmemscope.exporters.explanation import index_sentence
from lmemscope.formats.ptx import PtxModule
from lmemscope.model import IndexFacts, IndexSource, KernelReport, SourceKind
from tests.support.builders import PTX_HEADER

BODY = """(const float *p, float *q, int n) {
  float a[64];
  for (int i = 0; i < n; ++i) a[i & 63] = p[i];
  q[threadIdx.x] = a[%s];
}
"""
KERNELS: dict[str, tuple[str, str | None, bool | None]] = {
    # name: (index, launch or None, whether lanes share an element, None: not known)
    "fills": ("threadIdx.y", "dim3(32, 4)", True),
    "fills_named": ("threadIdx.y", "block", True),
    "splits": ("threadIdx.y", "dim3(16, 16)", False),
    "either": ("threadIdx.y", "dim3(32, 4)", False),
    "unknown_shape": ("threadIdx.y", None, None),
    "flat": ("threadIdx.z", "128", True),
    "divided": ("threadIdx.x / 32", "dim3(64, 2)", True),
    "divided_across": ("threadIdx.x / 32", "dim3(48, 2)", False),
    "divided_unknown": ("threadIdx.x / 32", None, True),
    "numbered": ("(threadIdx.y * blockDim.x + threadIdx.x) / 32", "dim3(16, 16)", True),
    "numbered_signed": ("int(threadIdx.x + blockDim.x * threadIdx.y) / 64", "dim3(8, 8)", True),
    "numbered_in_space": (
        "((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x) >> 5",
        "dim3(8, 2, 4)",
        True,
    ),
    "numbered_across": ("(threadIdx.x * blockDim.y + threadIdx.y) / 32", "dim3(16, 16)", False),
    "numbered_ahead": ("(threadIdx.y * blockDim.x + threadIdx.x + 1) / 32", "dim3(16, 8)", False),
    "numbered_half": ("(threadIdx.y * blockDim.x + threadIdx.x) / 16", "dim3(16, 16)", False),
    "numbered_by_a_constant": ("(threadIdx.y * 16 + threadIdx.x) / 32", "dim3(16, 16)", True),
    "numbered_by_another": ("(threadIdx.y * 16 + threadIdx.x) / 32", "dim3(8, 16)", False),
    "numbered_unknown": ("(threadIdx.y * 16 + threadIdx.x) / 32", None, False),
    "both": ("(threadIdx.x + threadIdx.y) & 63", "dim3(32, 4)", False),
}
LOOPED = """(const float *p, float *q, int n) {
  float a[64];
  for (int i = 0; i < 64; ++i) a[i] = p[i];
  for (int i = 0; i < n; ++i) q[i] += a[(threadIdx.y + i) & 63];
}
"""
HOST = "void run(const float *p, float *q) {\n  const dim3 block(64, 4);\n%s}\n"


@pytest.fixture(scope="module")
def shaped(tmp_path_factory: pytest.TempPathFactory) -> dict[str, KernelReport]:
    """The kernels above, by name."""
    text = "".join(f"__global__ void {n}{BODY % one[0]}" for n, one in KERNELS.items())
    text += "".join(f"__global__ void {n}_in_a_loop{LOOPED}" for n in ("unknown", "splits"))
    launches = [f"  {n}<<<1, {one[1]}>>>(p, q, 3);\n" for n, one in KERNELS.items() if one[1]]
    launches.append("  splits_in_a_loop<<<1, dim3(16, 16)>>>(p, q, 3);\n")
    launches.append("  either<<<1, dim3(8, 8)>>>(p, q, 3);\n")
    file = tmp_path_factory.mktemp("shape") / "a.cu"
    file.write_text(text + HOST % "".join(launches))
    return {k.facts.demangled.partition("(")[0]: k for k in scan(file).units[0].kernels}


@pytest.mark.toolchain
@pytest.mark.parametrize("name", KERNELS)
def test_threads_of_a_row_share_their_other_coordinates(
    shaped: dict[str, KernelReport], name: str
) -> None:
    loads = [one for one in shaped[name].facts.accesses if not one.is_store]
    assert loads
    expected = {True: ("uniform", 4), False: ("lane-varying", 32), None: ("unknown", None)}
    assert {(one.uniformity, one.sectors) for one in loads} == {expected[KERNELS[name][2]]}


@pytest.mark.toolchain
def test_a_block_of_unknown_shape_is_no_proof_of_divergence(
    shaped: dict[str, KernelReport],
) -> None:
    (finding,) = shaped["unknown_in_a_loop"].findings
    assert finding.severity == "warning"
    assert finding.index is not None
    assert finding.index.uniformity == "unknown"
    (proven,) = shaped["splits_in_a_loop"].findings
    assert proven.severity == "error"


@pytest.mark.parametrize(("required", "level"), [("64, 2", "uniform"), ("16, 8", "lane-varying")])
def test_a_required_block_tells_its_rows(required: str, level: str) -> None:
    text = (
        f"{PTX_HEADER}.visible .entry k()\n.reqntid {required}, 1\n"
        "{\nmov.u32 %r1, %tid.y;\nadd.u32 %r2, %r1, 1;\nret;\n}\n"
    )
    dataflow = ModuleFlow(PtxModule(text.encode())).dataflow("k")
    assert dataflow is not None
    assert dataflow.uniformity("%r2") == level


@pytest.mark.parametrize(
    ("offset", "size", "width", "places", "sectors"),
    [
        (0, 4, 4, 1, 4),
        (8, 8, 4, 2, 8),  # float[2]
        (0, 24, 8, 3, 12),  # long[3], as wholes
        (0, 24, 4, 6, 24),
        (0, 32, 16, 2, 8),
        (0, 32, 4, 8, 32),
        (0, 4096, 4, 1024, 32),
        (0, 8, 1, 2, 8),  # char[8]
        (3, 8, 1, 3, 12),  # of char[8] across three words
    ],
)
def test_a_request_touches_no_more_than_the_object_has(
    offset: int, size: int, width: int, places: int, sectors: int
) -> None:
    assert places_in(offset, size, width) == places
    assert sectors_per_request("data-dependent", places) == sectors
    assert sectors_per_request("uniform", places) == 4


@pytest.mark.parametrize(
    ("sources", "differs"),
    [
        ((("thread-id", "threadIdx.x"),), True),
        ((("thread-id", "threadIdx.x"), ("loop-counter", None)), True),
        ((("thread-id", "threadIdx.y"),), False),
        ((("thread-id", "threadIdx.x"), ("thread-id", "threadIdx.y")), False),
        ((("thread-id", "threadIdx.x"), ("parameter", "n")), False),
    ],
)
def test_an_index_surely_differs_only_by_the_place_in_the_row(
    sources: tuple[tuple[SourceKind, str | None], ...], differs: bool
) -> None:
    made = tuple(IndexSource(kind, name) for kind, name in sources)
    index = IndexFacts("i", made, "lane-varying", None)
    assert ("differs between lanes" in index_sentence(index, 2)) is differs
    assert ("may diverge" in index_sentence(index, 2)) is not differs
    assert "up to 8 sectors" in index_sentence(index, 2)


def test_an_unknown_shape_is_named_as_what_is_unknown() -> None:
    source = IndexSource("thread-id", "threadIdx.y")
    said = index_sentence(IndexFacts("threadIdx.y", (source,), "unknown", None), 2)
    assert "block shape unknown" in said
    assert "same in all lanes" not in said
