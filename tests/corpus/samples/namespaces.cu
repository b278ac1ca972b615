// Equal names in nested and anonymous namespaces.
#include <string>

namespace physics {
namespace detail {
__device__ float kick(float v, float a, float dt) { return v + a * dt; }
}  // namespace detail

inline namespace v2 {
__global__ void step(float *v, const float *a, float dt) {
  v[threadIdx.x] = detail::kick(v[threadIdx.x], a[threadIdx.x], dt);
}
}  // namespace v2
}  // namespace physics

namespace {
__global__ void step(int *order, const int *keys, int n) {
  int seen[48];
  for (int i = 0; i < 48; ++i) seen[i] = 0;
  for (int i = 0; i < n; ++i) seen[keys[i] % 48] = i;
  for (int i = 0; i < 48; ++i) order[i] = seen[i];
}
}  // namespace

int main() {
  physics::step<<<1, 32>>>(nullptr, nullptr, 0.1f);
  step<<<1, 1>>>(nullptr, nullptr, 0);
  return std::string("ok").empty();
}
