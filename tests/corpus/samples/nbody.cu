// Vector types, structures of arrays, rsqrtf, a register cap.
#include <fstream>
#include <string>
#include <vector_types.h>

struct Bodies {
  float4 *position;
  float3 *velocity;
  int count;
};

__device__ float3 pull(float4 a, float4 b, float3 sum) {
  float3 d = make_float3(b.x - a.x, b.y - a.y, b.z - a.z);
  float r = rsqrtf(d.x * d.x + d.y * d.y + d.z * d.z + 1e-3f);
  float s = b.w * r * r * r;
  return make_float3(sum.x + d.x * s, sum.y + d.y * s, sum.z + d.z * s);
}

__global__ void __launch_bounds__(256, 2) integrate(Bodies bodies, float dt) {
  __shared__ float4 shared[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  float4 own = bodies.position[i];
  float3 sum = make_float3(0, 0, 0);
  for (int tile = 0; tile < bodies.count; tile += 256) {
    shared[threadIdx.x] = bodies.position[tile + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < 256; ++k) sum = pull(own, shared[k], sum);
    __syncthreads();
  }
  bodies.velocity[i].x += sum.x * dt;
}

int main() {
  std::ofstream log(std::string("/dev/null"));
  integrate<<<1, 256>>>(Bodies{}, 0.01f);
  log << cudaDeviceSynchronize();
}
