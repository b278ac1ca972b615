// A lattice Boltzmann step with 19 directions.
// threads: n / 19
__global__ void k(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; int m = n / 19; if (i >= m) return;
  float f[19], feq[19];
#pragma unroll
  for (int q = 0; q < 19; ++q) f[q] = in[(i + q * 37) % m + q * m];
  float rho = 0, ux = 0, uy = 0, uz = 0;
#pragma unroll
  for (int q = 0; q < 19; ++q) { rho += f[q]; ux += f[q] * ((q % 3) - 1); uy += f[q] * ((q / 3 % 3) - 1); uz += f[q] * ((q / 9) - 1); }
  ux /= rho; uy /= rho; uz /= rho; float uu = 1.5f * (ux * ux + uy * uy + uz * uz);
#pragma unroll
  for (int q = 0; q < 19; ++q) { float cu = 3 * (((q % 3) - 1) * ux + ((q / 3 % 3) - 1) * uy + ((q / 9) - 1) * uz); feq[q] = rho * (1 + cu + 0.5f * cu * cu - uu) / 19; }
#pragma unroll
  for (int q = 0; q < 19; ++q) out[i + q * m] = f[q] - 0.6f * (f[q] - feq[q]);
}
