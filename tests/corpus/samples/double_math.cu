// Double precision with library functions that have slow paths.
#include <cmath>
#include <complex>

__global__ void wave(const double *t, double *out, int n, double w) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = sin(w * t[i]) * exp(-t[i]) + cos(2 * w * t[i]);
}

__global__ void power(const double *x, double *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = pow(x[i], 1.7) + cbrt(x[i]) + erf(x[i]);
}

int main() {
  std::complex<double> w(std::cos(0.1), std::sin(0.1));
  wave<<<1, 64>>>(nullptr, nullptr, 0, w.real());
  power<<<1, 64>>>(nullptr, nullptr, 0);
}
