"""Of several lines that index an object, and several things behind an index, which one is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.api import scan
from lmemscope.model import Finding, IndexSource

pytestmark = pytest.mark.toolchain

KERNEL = """{before}
__global__ void k(const float *in, float *out, const int *at, int n, int m) {{
  float a[48], b[48];
  for (int i = 0; i < 48; ++i) {{ a[i] = in[i + threadIdx.x]; b[i] = in[i * 3]; }}
  float s = 0;
  {body}
  out[threadIdx.x] = s;
}}
"""


def found(directory: Path, body: str, before: str = "") -> tuple[Finding, str]:
    """The finding about ``a``, and the text of the line that it names."""
    source = directory / "a.cu"
    source.write_text(KERNEL.format(before=before, body=body))
    (kernel,) = scan(source).units[0].kernels
    (finding,) = (one for one in kernel.findings if one.object == "a")
    assert finding.location is not None
    return finding, source.read_text().splitlines()[finding.location.line - 1].strip()


def names(sources: tuple[IndexSource, ...]) -> set[str]:
    return {one.name or one.kind for one in sources}


ONCE = "s += a[at[threadIdx.x] % 48];"
LOOP = "for (int r = 0; r < n; ++r) s += a[r * 3 % 48];"
SHORT = "#pragma unroll 1\n  for (int r = 0; r < 2; ++r)\n    s += a[(r + n) % 48];"
LONG = "#pragma unroll 1\n  for (int r = 0; r < 900; ++r)\n    s += a[(r + m) % 48];"


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (f"{ONCE}\n  {LOOP}", LOOP),
        (f"{LOOP}\n  {ONCE}", LOOP),
        (f"{SHORT}\n  {LONG}", "s += a[(r + m) % 48];"),
        (f"{LONG}\n  {SHORT}", "s += a[(r + m) % 48];"),
    ],
)
def test_the_line_that_moves_most_is_named(tmp_path: Path, body: str, line: str) -> None:
    assert found(tmp_path, body)[1] == line


@pytest.mark.parametrize(("first", "second"), [("n", "m"), ("m", "n")])
def test_the_index_quoted_is_made_of_what_is_said(tmp_path: Path, first: str, second: str) -> None:
    body = f"""#pragma unroll 1
  for (int r = 0; r < 900; ++r) s += a[r * {first} % 48] + a[r * {second} % 48];"""
    index = found(tmp_path, body)[0].index
    assert index is not None
    said = {name for name in "nm" if index.expression and f"r * {name}" in index.expression}
    assert len(said) == 1
    assert names(index.sources) & {"n", "m"} == said


DOT = """__device__ float dot(const float *row, const float *in) {
  float s = 0;
  for (int i = 0; i < 4; ++i) s += row[i] * in[i];
  return s;
}"""


def test_an_index_that_is_constant_where_it_is_executed_is_not_named(tmp_path: Path) -> None:
    body = "for (int r = 0; r < n; ++r) s += dot(&a[at[r] & 31], in);"
    finding, _ = found(tmp_path, body, DOT)
    assert finding.index is not None
    assert finding.index.expression != "i"
    assert names(finding.index.sources) == {"at"}
    kept = "for (int r = 0; r < n; ++r) for (int i = 0; i < m; ++i) s += a[i];"
    assert found(tmp_path, kept)[0].index.expression == "i"  # type: ignore[union-attr]


def test_a_counter_that_a_loop_has_left_is_an_index(tmp_path: Path) -> None:
    body = """int i;
  for (i = 0; i < 4; ++i) if (at[i] == n) break;
  s = a[i + m] + b[m];"""
    index = found(tmp_path, body)[0].index
    assert index is not None
    assert index.expression == "i + m"


@pytest.mark.parametrize(
    ("chooser", "chosen_by"),
    [("at[r]", {"at"}), ("threadIdx.x & 1", {"threadIdx.x"})],
)
def test_what_chooses_a_pointer_is_not_what_indexes(
    tmp_path: Path, chooser: str, chosen_by: set[str]
) -> None:
    body = f"""for (int r = 0; r < n; ++r) {{
    float *p = {chooser} ? a : b;
    s += p[r * m % 48]; p[r % 48] = s;
  }}"""
    finding, _ = found(tmp_path, body)
    assert finding.index is not None
    assert names(finding.index.chosen_by) == chosen_by
    assert not names(finding.index.sources) & chosen_by
    alone, _ = found(tmp_path, f"for (int r = 0; r < n; ++r) s += a[({chooser} ? 3 : m) + r % 9];")
    assert alone.index is not None
    assert alone.index.chosen_by == ()
    assert chosen_by <= names(alone.index.sources)


VIEW = """struct View {
  float *data;
  __device__ float operator()(int i, int j) const { return data[i * 8 + j]; }
};
__global__ void k(const float *in, float *out, const int *at, int n) {
  float a[48];
  for (int i = 0; i < 48; ++i) a[i] = in[i + threadIdx.x];
  const View view{a};
  float s = 0;
  for (int r = 0; r < n; ++r) s += view(at[r] % 6, 3);
  out[threadIdx.x] = s;
}
"""


def test_the_call_of_an_operator_that_subscripts_is_named(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text(VIEW)
    (kernel,) = scan(source).units[0].kernels
    (finding,) = kernel.findings
    assert (finding.object, finding.cause) == ("a", "dynamic-index")
    assert finding.index is not None
    assert (finding.index.expression, finding.location) == ("i * 8 + j", finding.index.location)
    call = finding.index.called_from
    assert call is not None
    assert "view(at[r]" in VIEW.splitlines()[call.line - 1]
    assert call in finding.related
