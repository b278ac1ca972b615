"""CUDA C++ in Python strings, as CuPy takes it; scanned without importing this file.

lmemscope scan kernels/cupy_kernels.py
"""

import cupy

RANKS = 48

rank_counts = cupy.RawKernel(
    r"""
extern "C" __global__ void rank_counts(const int *rank, float *out, int n) {
  float own[48] = {};
  for (int i = threadIdx.x; i < n; i += blockDim.x) own[rank[i]] += 1.0f;
  for (int k = 0; k < 48; ++k) atomicAdd(out + k, own[k]);
}
""",
    "rank_counts",
)

medians = cupy.RawModule(
    code=f"""
template <typename T>
__global__ void rank_median(const T *in, const int *rank, T *out) {{
  T sorted[{RANKS}];
  for (int k = 0; k < {RANKS}; ++k) sorted[rank[k]] = in[k * blockDim.x + threadIdx.x];
  out[threadIdx.x] = (sorted[{RANKS // 2 - 1}] + sorted[{RANKS // 2}]) / 2;
}}
""",
    name_expressions=("rank_median<float>", "rank_median<double>"),
)

soften = cupy.ElementwiseKernel("T x, T width", "T y", "y = x / (1 + fabs(x / width))", "soften")
