// A histogram of 64 bins per thread.
//
// Expect: histogram_private keeps `bins` in 256 bytes of local memory: the index is data, and
// differs from lane to lane, so one load or store touches up to 32 sectors.
// histogram_shared has no local memory: the bins are in shared memory, laid out so that each
// thread has its own bank.

extern "C" __global__ void histogram_private(const unsigned char *data, unsigned *totals, int n) {
  unsigned bins[64] = {};
  for (int i = threadIdx.x; i < n; i += blockDim.x) ++bins[data[i] & 63];
  for (int bin = 0; bin < 64; ++bin)
    if (bins[bin]) atomicAdd(&totals[bin], bins[bin]);
}

extern "C" __global__ void __launch_bounds__(128)
    histogram_shared(const unsigned char *data, unsigned *totals, int n) {
  __shared__ unsigned bins[64][128];
  for (int bin = 0; bin < 64; ++bin) bins[bin][threadIdx.x] = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) ++bins[data[i] & 63][threadIdx.x];
  for (int bin = 0; bin < 64; ++bin)
    if (bins[bin][threadIdx.x]) atomicAdd(&totals[bin], bins[bin][threadIdx.x]);
}
