// Thrust algorithms with functors; the kernels are the library's own.
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/transform.h>
#include <iostream>

struct Polynomial {
  float c[5];
  __host__ __device__ float operator()(float x) const {
    float y = 0;
    for (int k = 4; k >= 0; --k) y = y * x + c[k];
    return y;
  }
};

struct Pick {
  float table[24];
  __device__ float operator()(int i) const { return table[i % 24]; }
};

int main() {
  thrust::device_vector<float> x(1000, 0.5f), y(1000);
  thrust::device_vector<int> at(1000, 3);
  Polynomial p{{1, 2, 3, 4, 5}};
  thrust::transform(x.begin(), x.end(), y.begin(), p);
  thrust::transform(at.begin(), at.end(), y.begin(), Pick{});
  std::cout << y[0] << "\n";
}
