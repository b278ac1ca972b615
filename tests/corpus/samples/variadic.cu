// Variadic templates, if constexpr, structured bindings on the host.
#include <map>
#include <tuple>
#include <type_traits>

template <typename T, typename... Rest>
__device__ T largest(T first, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) return first;
  else {
    T other = largest(rest...);
    return first > other ? first : other;
  }
}

template <typename... Columns>
__global__ void reduce_columns(float *out, int n, const Columns *...columns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = largest(static_cast<float>(columns[i])...);
}

int main() {
  std::map<int, float> host{{1, 2.0f}};
  for (auto [key, value] : host) (void)std::make_tuple(key, value);
  reduce_columns<<<1, 32>>>((float *)nullptr, 0, (const float *)nullptr, (const int *)nullptr, (const double *)nullptr);
}
