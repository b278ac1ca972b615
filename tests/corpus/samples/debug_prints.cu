// printf and assert in device code, an overloaded operator, a static helper.
#include <cassert>
#include <cstdio>

struct Point {
  float x, y;
};

__host__ __device__ static Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y}; }

__global__ void check(const Point *points, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 1 >= n) return;
  Point d = points[i + 1] - points[i];
  assert(d.x >= 0);
  if (d.y > 100) printf("step %d is %f high\n", i, d.y);
}

int main() {
  Point host = Point{1, 2} - Point{0, 1};
  std::printf("%f\n", host.x);
  check<<<1, 32>>>(nullptr, 0);
}
