// Images, small matrices, rays, tables, walks: held out, labelled before any scan.

#include <cuda_fp16.h>

#ifdef EXPERIMENT
#define AT(run_time, constant) (constant)
#define ROLLED _Pragma("unroll")
#else
#define AT(run_time, constant) (run_time)
#define ROLLED _Pragma("unroll 1")
#endif

/* labels
[[find]]
cause = "dynamic-index"
object = "window"
type = "unsigned char[25]"
size = 25
declared = "window"
lines = ["window_put", "window_least", "window_take", "window_swap", "window_result"]
primary = ["window_put", "window_least", "window_take", "window_swap", "window_result"]
index = ["[count++]", "[j]", "[least]", "[i]", "[count / 2]"]
sources = ["thread-id threadIdx.x", "block-id blockIdx.x", "block-id blockIdx.y", "other blockDim.x", "parameter width", "parameter height", "loop-counter constant", "loop-counter run-time", "memory window"]
uniformity = ["data-dependent", "lane-varying"]
*/
extern "C" __global__ void median_at_borders(const unsigned char *__restrict__ image, unsigned char *__restrict__ out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= width) return;
  unsigned char window[25];  //@window
#ifdef EXPERIMENT
  window[3] = image[y * width + x];
  out[y * width + x] = window[3];
#else
  int count = 0;
#pragma unroll 1
  for (int dy = -2; dy <= 2; ++dy)
#pragma unroll 1
    for (int dx = -2; dx <= 2; ++dx) {
      if (x + dx < 0 || x + dx >= width || y + dy < 0 || y + dy >= height) continue;
      window[count++] = image[(y + dy) * width + x + dx];  //@window_put
    }
#pragma unroll 1
  for (int i = 0; i <= count / 2; ++i) {
    int least = i;
#pragma unroll 1
    for (int j = i + 1; j < count; ++j)
      if (window[j] < window[least]) least = j;  //@window_least
    const unsigned char held = window[least];    //@window_take
    window[least] = window[i];                   //@window_swap
    window[i] = held;                            //@window_swap
  }
  out[y * width + x] = window[count / 2];  //@window_result
#endif
}

/* labels
[[find]]
cause = "dynamic-index"
object = "nearest"
type = "float[9]"
size = 36
declared = "nearest"
lines = ["nearest_far", "nearest_test", "nearest_shift", "nearest_put", "nearest_out"]
primary = ["nearest_test", "nearest_shift", "nearest_put"]
index = ["[j - 1]", "[j]"]
sources = ["loop-counter constant", "memory nearest", "memory points", "memory queries"]
uniformity = ["data-dependent", "uniform"]
[[find]]
cause = "dynamic-index"
object = "who"
type = "int[9]"
size = 36
declared = "who"
lines = ["who_shift", "who_put", "who_out"]
primary = ["who_shift", "who_put"]
index = ["[j - 1]", "[j]"]
sources = ["loop-counter constant", "memory nearest", "memory points", "memory queries"]
uniformity = ["data-dependent", "uniform"]
*/
extern "C" __global__ void nine_nearest(const float2 *__restrict__ points, int n, const float2 *__restrict__ queries,
                                        float *__restrict__ distances, int *__restrict__ neighbours) {
  float nearest[9];  //@nearest
  int who[9];        //@who
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  const float2 q = queries[id];
#pragma unroll
  for (int k = 0; k < 9; ++k) nearest[k] = 1e30f;  //@nearest_far
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const float2 p = points[i];
    const float d = (p.x - q.x) * (p.x - q.x) + (p.y - q.y) * (p.y - q.y);
#ifdef EXPERIMENT
    nearest[2] = d;
    who[2] = i;
#else
    int j = 9;
#pragma unroll 1
    while (j > 0 && nearest[j - 1] > d) {  //@nearest_test
      if (j < 9) {
        nearest[j] = nearest[j - 1];  //@nearest_shift
        who[j] = who[j - 1];          //@who_shift
      }
      --j;
    }
    if (j < 9) {
      nearest[j] = d;  //@nearest_put
      who[j] = i;      //@who_put
    }
#endif
  }
#pragma unroll
  for (int k = 0; k < 9; ++k) {
    distances[id * 9 + k] = nearest[k];  //@nearest_out
    neighbours[id * 9 + k] = who[k];     //@who_out
  }
}

/* labels
[[find]]
cause = "dynamic-index"
object = "c"
type = "double[14]"
size = 112
declared = "c"
lines = ["c_load", "c_lead", "c_step"]
primary = ["c_lead", "c_step"]
index = ["[degree]", "[k]"]
sources = ["parameter degree", "loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void horner(const double *__restrict__ coefficients, int degree, const double *__restrict__ x, double *__restrict__ y) {
  double c[14];  //@c
#pragma unroll
  for (int k = 0; k < 14; ++k) c[k] = coefficients[blockIdx.y * 14 + k];  //@c_load
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef EXPERIMENT
  y[id] = c[2] * x[id] + c[7];
#else
  double sum = c[degree];  //@c_lead
#pragma unroll 1
  for (int k = degree - 1; k >= 0; --k) sum = sum * x[id] + c[k];  //@c_step
  y[id] = sum;
#endif
}

/* labels
clean = true
*/
extern "C" __global__ void chebyshev_fixed(const float *__restrict__ coefficients, const float *__restrict__ x, float *__restrict__ y) {
  float c[8], t[8];
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 8; ++k) c[k] = coefficients[k];
  t[0] = 1.0f;
  t[1] = x[id];
#pragma unroll
  for (int k = 2; k < 8; ++k) t[k] = 2.0f * x[id] * t[k - 1] - t[k - 2];
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < 8; ++k) sum += c[k] * t[k];
  y[id] = sum;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "a"
type = "float[6][6]"
size = 144
declared = "a"
lines = ["a_load", "a_pivot", "a_swap_from", "a_swap_to", "a_swap_back", "a_factor", "a_reduce", "a_out"]
primary = ["a_pivot", "a_swap_from", "a_swap_to", "a_swap_back", "a_factor", "a_reduce"]
index = ["[r][k]", "[pivot][k]", "[k][c]", "[pivot][c]", "[k][k]", "[r][c]"]
sources = ["loop-counter constant", "memory a"]
optional = ["memory in"]
uniformity = ["data-dependent", "uniform"]
*/
extern "C" __global__ void lu_with_pivots(const float *__restrict__ in, float *__restrict__ out) {
  float a[6][6];  //@a
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int e = 0; e < 36; ++e) a[e / 6][e % 6] = in[e * 2048 + id];  //@a_load
#ifndef EXPERIMENT
#pragma unroll 1
  for (int k = 0; k < 5; ++k) {
    int pivot = k;
#pragma unroll 1
    for (int r = k + 1; r < 6; ++r)
      if (fabsf(a[r][k]) > fabsf(a[pivot][k])) pivot = r;  //@a_pivot
#pragma unroll 1
    for (int c = 0; c < 6; ++c) {
      const float held = a[k][c];  //@a_swap_from
      a[k][c] = a[pivot][c];       //@a_swap_to
      a[pivot][c] = held;          //@a_swap_back
    }
#pragma unroll 1
    for (int r = k + 1; r < 6; ++r) {
      const float factor = a[r][k] / a[k][k];                              //@a_factor
#pragma unroll 1
      for (int c = k; c < 6; ++c) a[r][c] -= factor * a[k][c];  //@a_reduce
    }
  }
#endif
#pragma unroll
  for (int e = 0; e < 36; ++e) out[e * 2048 + id] = a[e / 6][e % 6];  //@a_out
}

#ifdef EXPERIMENT
#define OUTLINED __forceinline__
#else
#define OUTLINED __noinline__
#endif

__device__ OUTLINED float invert3(const float *m, float *inverse) {
  const float d = m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6]);  //@m_in
  const float r = 1.0f / d;
  inverse[0] = (m[4] * m[8] - m[5] * m[7]) * r;  //@m_a
  inverse[1] = (m[2] * m[7] - m[1] * m[8]) * r;  //@m_b
  inverse[2] = (m[1] * m[5] - m[2] * m[4]) * r;  //@m_c
  return d;
}

/* labels
[[find]]
cause = "address-taken"
object = "m"
type = "float[9]"
size = 36
declared = "m"
lines = ["m_load", "m_in", "m_b", "m_c"]
primary = ["m_load", "m_call", "m_in", "m_a", "m_b", "m_c"]
[[find]]
cause = "address-taken"
object = "inverse"
type = "float[3]"
size = 12
declared = "inverse"
lines = ["m_a", "m_b", "m_c", "m_use"]
primary = ["m_call", "m_use", "m_a", "m_b", "m_c"]
*/
extern "C" __global__ void invert_all(const float *__restrict__ in, float *__restrict__ out) {
  float m[9];        //@m
  float inverse[3];  //@inverse
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 9; ++k) m[k] = in[9 * id + k];  //@m_load
  const float determinant = invert3(m, inverse);      //@m_call
  out[4 * id] = determinant;
#pragma unroll
  for (int k = 0; k < 3; ++k) out[4 * id + 1 + k] = inverse[k];  //@m_use
}

/* labels
promoted = ["colour"]
promoted_archs = ["sm_75"]
[[find]]
archs = ["sm_80", "sm_90", "sm_100", "sm_120"]
cause = "dynamic-index"
object = "colour"
type = "float3[17]"
size = 204
declared = "colour"
lines = ["colour_load", "colour_use"]
primary = ["colour_use"]
index = ["[trips]"]
sources = ["loop-counter constant", "memory points", "parameter c"]
uniformity = "data-dependent"
*/
extern "C" __global__ void julia_colours(const float2 *__restrict__ points, const float3 *__restrict__ palette, float3 *__restrict__ out, float2 c, int n) {
  float3 colour[17];  //@colour
#pragma unroll
  for (int k = 0; k < 17; ++k) colour[k] = palette[k];  //@colour_load
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    float2 z = points[i * 1024 + id];
    int trips = 0;
#pragma unroll 1
    while (trips < 16 && z.x * z.x + z.y * z.y < 4.0f) {
      z = make_float2(z.x * z.x - z.y * z.y + c.x, 2.0f * z.x * z.y + c.y);
      ++trips;
    }
    trips = AT(trips, 9);
    out[i * 1024 + id] = colour[trips];  //@colour_use
  }
}

/* labels
[[find]]
cause = "dynamic-index"
object = "phase"
type = "double[40]"
size = 320
declared = "phase"
lines = ["phase_load", "phase_add", "phase_use"]
primary = ["phase_add", "phase_use"]
index = ["[row]"]
sources = ["parameter odd", "parameter even", "thread-id threadIdx.x"]
uniformity = "lane-varying"
*/
extern "C" __global__ void checkerboard(const double *__restrict__ in, double *__restrict__ out, int odd, int even, int n) {
  double phase[40];  //@phase
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 40; ++k) phase[k] = in[k * 128 + id];  //@phase_load
  int row;
  if (threadIdx.x & 1)
    row = AT(odd * 2 + 1, 5);
  else
    row = AT(even * 2, 5);
#pragma unroll 1
  for (int i = 0; i < n; ++i) phase[row] += in[i];  //@phase_add
  out[id] = phase[row] * phase[0];                  //@phase_use
}

/* labels
[[find]]
cause = "math-slow-path"
primary = ["rotor_call"]
[[find]]
cause = "dynamic-index"
object = "gain"
type = "float[30]"
size = 120
declared = "gain"
lines = ["gain_load", "gain_use"]
primary = ["gain_use"]
index = ["[band]"]
sources = ["memory bands"]
uniformity = "uniform"
*/
extern "C" __global__ void rotor(const float *__restrict__ angles, const float *__restrict__ gains, const int *__restrict__ bands, float *__restrict__ out, int n) {
  float gain[30];  //@gain
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 30; ++k) gain[k] = gains[k * 64 + id];  //@gain_load
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const int band = AT(bands[i], 4);
#ifdef EXPERIMENT
    const float wave = __cosf(angles[i * 64 + id]);
#else
    const float wave = cosf(angles[i * 64 + id]);  //@rotor_call
#endif
    out[i * 64 + id] = wave * gain[band];  //@gain_use
  }
}

/* labels
[[find]]
cause = "math-slow-path"
primary = ["tan_call"]
*/
extern "C" __global__ void tangents(const double *__restrict__ x, double *__restrict__ y) {
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef EXPERIMENT
  y[id] = x[id] * x[id];
#else
  y[id] = tan(x[id]);  //@tan_call
#endif
}

struct Hit {
  float t;
  struct {
    float u, v;
  } at;
  int sphere;
};

/* labels
[[find]]
cause = "dynamic-index"
object = "hits"
type = "Hit[12]"
size = 192
declared = "hits"
lines = ["hit_sphere", "hit_shade"]
primary = ["hit_sphere", "hit_shade"]
index = ["[count]", "[k]"]
sources = ["memory spheres", "memory rays", "loop-counter run-time"]
uniformity = ["data-dependent", "uniform"]
*/
extern "C" __global__ void sphere_hits(const float4 *__restrict__ spheres, int n, const float4 *__restrict__ rays,
                                       const float *__restrict__ albedo, float *__restrict__ out) {
  Hit hits[12];  //@hits
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 ray = rays[id];
  float light = 0.0f;
#ifdef EXPERIMENT
  hits[1].t = ray.x;
  light = hits[1].t + albedo[n] + spheres[n].x;
#else
  int count = 0;
#pragma unroll 1
  for (int s = 0; s < n; ++s) {
    const float4 ball = spheres[s];
    const float b = ball.x * ray.x + ball.y * ray.y + ball.z * ray.z;
    const float disc = b * b - ball.x * ball.x - ball.y * ball.y - ball.z * ball.z + ball.w * ball.w;
    if (disc < 0.0f || count == 12) continue;
    hits[count].t = b - sqrtf(disc);         //@hit_t
    hits[count].at.u = ball.x - b * ray.x;   //@hit_at
    hits[count].at.v = ball.y - b * ray.y;   //@hit_at
    hits[count].sphere = s;                  //@hit_sphere
    ++count;
  }
#pragma unroll 1
  for (int k = 0; k < count; ++k)
    light += albedo[hits[k].sphere] * hits[k].at.u * hits[k].at.v / hits[k].t;  //@hit_shade
#endif
  out[id] = light;
}

struct Quaternion {
  float w, x, y, z;
};

__device__ __forceinline__ Quaternion operator*(const Quaternion &a, const Quaternion &b) {
  return {a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
          a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}

/* labels
[[find]]
cause = "dynamic-index"
object = "pose"
type = "Quaternion[20]"
size = 320
declared = "pose"
lines = ["pose_root", "pose_parent", "pose_bone", "pose_out"]
primary = ["pose_parent", "pose_bone"]
index = ["[parents[bone]]", "[bone]"]
sources = ["memory parents", "loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void skeleton(const Quaternion *__restrict__ local, const int *__restrict__ parents, Quaternion *__restrict__ world) {
  Quaternion pose[20];  //@pose
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  pose[0] = local[id];  //@pose_root
#pragma unroll 1
  for (int bone = 1; bone < 20; ++bone) {
#ifdef EXPERIMENT
    const Quaternion up = pose[0];
    pose[0] = up * local[bone * 4096 + id];
#else
    const Quaternion up = pose[parents[bone]];  //@pose_parent
    pose[bone] = up * local[bone * 4096 + id];  //@pose_bone
#endif
  }
  world[id] = pose[AT(19, 0)];  //@pose_out
}

/* labels
[[find]]
cause = "dynamic-index"
object = "knot"
type = "__half[64]"
size = 128
declared = "knot"
lines = ["knot_load", "knot_use"]
primary = ["knot_use"]
index = ["[(threadIdx.x / 32 + i) & 63]"]
sources = ["thread-id threadIdx.x", "loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void knots_of_warp(const __half *__restrict__ knots, const __half *__restrict__ x, __half *__restrict__ y, int n) {
  __half knot[64];  //@knot
#pragma unroll
  for (int k = 0; k < 64; ++k) knot[k] = knots[k * gridDim.x + blockIdx.x];  //@knot_load
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
#ifdef EXPERIMENT
    y[i * 256 + threadIdx.x] = __hmul(x[i * 256 + threadIdx.x], knot[4]);
#else
    y[i * 256 + threadIdx.x] = __hmul(x[i * 256 + threadIdx.x], knot[(threadIdx.x / 32 + i) & 63]);  //@knot_use
#endif
  }
}

/* labels
[[find]]
cause = "dynamic-index"
object = "ramp"
type = "float[50]"
size = 200
declared = "ramp"
lines = ["ramp_build", "ramp_low", "ramp_high"]
primary = ["ramp_low", "ramp_high"]
index = ["[cell]", "[cell + 1]"]
sources = ["memory x"]
uniformity = "data-dependent"
*/
extern "C" __global__ void interpolate(const float *__restrict__ table, const float *__restrict__ x, float *__restrict__ y, int n) {
  float ramp[50];  //@ramp
#pragma unroll
  for (int k = 0; k < 50; ++k) ramp[k] = table[k] * table[k + 1];  //@ramp_build
#pragma unroll 1
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const float at = fminf(fmaxf(x[i], 0.0f), 0.999f) * 49.0f;
    const int cell = AT((int)at, 7);
    const float low = ramp[cell];                   //@ramp_low
    y[i] = low + (at - cell) * (ramp[cell + 1] - low);  //@ramp_high
  }
}

#ifdef EXPERIMENT
#define OF_1024
#else
#define OF_1024 __launch_bounds__(1024, 1)
#endif

/* labels
[[find]]
cause = "register-spill"
*/
extern "C" __global__ void OF_1024 outer_products(const float4 *__restrict__ a, const float4 *__restrict__ b, float *__restrict__ c, int n) {
  float sum[8][12] = {};
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    float left[8], right[12];
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const float4 v = a[(i * 2 + k) * 1024 + threadIdx.x];
      left[4 * k] = v.x, left[4 * k + 1] = v.y, left[4 * k + 2] = v.z, left[4 * k + 3] = v.w;
    }
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      const float4 v = b[(i * 3 + k) * 1024 + threadIdx.x];
      right[4 * k] = v.x, right[4 * k + 1] = v.y, right[4 * k + 2] = v.z, right[4 * k + 3] = v.w;
    }
#pragma unroll
    for (int r = 0; r < 8; ++r)
#pragma unroll
      for (int s = 0; s < 12; ++s) sum[r][s] += left[r] * right[s];
  }
#pragma unroll
  for (int r = 0; r < 8; ++r)
#pragma unroll
    for (int s = 0; s < 12; ++s) c[(r * 12 + s) * 1024 + threadIdx.x] = sum[r][s];
}

#ifdef EXPERIMENT
#define KEPT
#else
#define KEPT volatile
#endif

/* labels
[[find]]
cause = "volatile"
object = "carry"
type = ["volatile float[2]", "float[2]"]
size = 8
declared = "carry"
lines = ["carry_zero", "carry_add", "carry_total", "carry_out"]
*/
extern "C" __global__ void compensated_sum(const float *__restrict__ x, float *__restrict__ sums, int n) {
  KEPT float carry[2];  //@carry
  carry[0] = 0.0f;      //@carry_zero
  carry[1] = 0.0f;      //@carry_zero
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    const float y = x[i] - carry[1];         //@carry_add
    const float total = carry[0] + y;        //@carry_add
    carry[1] = (total - carry[0]) - y;       //@carry_total
    carry[0] = total;                        //@carry_total
  }
  sums[blockIdx.x * blockDim.x + threadIdx.x] = carry[0];  //@carry_out
}

/* labels
[[find]]
cause = "dynamic-index"
object = "tile"
type = "int[45]"
size = 180
declared = "tile"
lines = ["tile_load", "tile_at", "tile_end"]
primary = ["tile_at"]
index = ["[r * 9 + c]"]
sources = ["thread-id threadIdx.x", "parameter stride", "other %clock64"]
uniformity = "lane-varying"
*/
extern "C" __global__ void jittered_tile(const int *__restrict__ in, int *__restrict__ out, int stride, int rounds) {
  int tile[45];  //@tile
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 45; ++k) tile[k] = in[k * 256 + id];  //@tile_load
  auto at = [&](int r, int c) -> int & { return tile[r * 9 + c]; };
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    const int lane_row = AT(__shfl_xor_sync(0xffffffffu, (int)threadIdx.x * stride, 4) & 3, 2);
    const int column = AT((int)(clock64() >> 4) & 7, 1);
    at(lane_row, column) += in[i];  //@tile_at
  }
  out[id] = at(AT(stride & 3, 2), 1);  //@tile_end
}

struct Blend {
  float weights[12];
  struct {
    short order[10];
    int mode;
  } layout;
};

/* labels
[[find]]
cause = "param-copy"
object = "blend.weights"
type = "float[12]"
size = 48
declared = "blend"
lines = ["blend", "blend_scale", "blend_use"]
primary = ["blend_scale", "blend_use"]
index = ["[layer]", "[first]"]
sources = ["memory layers", "block-id blockIdx.x"]
optional = ["loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void blend_layers(Blend blend, const int *__restrict__ layers, float *__restrict__ out, int n) {  //@blend
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const int layer = AT(layers[i], 3);
    blend.weights[layer] *= 0.5f;  //@blend_scale
  }
  const int first = AT(blockIdx.x % 12, 3);
  out[blockIdx.x * blockDim.x + threadIdx.x] = blend.weights[first] * blend.layout.mode;  //@blend_use
}

/* labels
[[find]]
cause = "rolled-loop"
object = "re"
type = "float[32]"
size = 128
declared = "re"
lines = ["re_reverse", "re_sum", "re_difference", "re_out"]
primary = ["re_reversing", "re_stage", "re_pair"]
index = ["[__brev(i) >> 27]", "[low]", "[low + half]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void walsh_hadamard(const float *__restrict__ in, float *__restrict__ out) {
  float re[32];  //@re
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  ROLLED
  for (unsigned i = 0; i < 32; ++i)                 //@re_reversing
    re[__brev(i) >> 27] = in[i * 256 + id];  //@re_reverse
  ROLLED
  for (int half = 1; half < 32; half *= 2) {  //@re_stage
    ROLLED
    for (int pair = 0; pair < 16; ++pair) {  //@re_pair
      const int low = pair / half * 2 * half + pair % half;
      const float sum = re[low] + re[low + half];  //@re_sum
      re[low + half] = re[low] - re[low + half];   //@re_difference
      re[low] = sum;                               //@re_difference
    }
  }
#pragma unroll
  for (int i = 0; i < 32; ++i) out[i * 256 + id] = re[i];  //@re_out
}

/* labels
[[find]]
cause = "large-array"
object = "path"
type = "short2[400]"
size = 1600
declared = "path"
lines = ["path_keep", "path_write"]
primary = ["path_walk", "path_keep", "path_back", "path_write"]
index = ["[step]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void walk_back(const unsigned *__restrict__ seeds, short2 *__restrict__ paths) {
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned x = seeds[id];
#ifdef EXPERIMENT
  paths[id] = make_short2(x & 1, 0);
#else
  short2 path[400];  //@path
  short2 at = make_short2(0, 0);
#pragma unroll 1
  for (int step = 0; step < 400; ++step) {  //@path_walk
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    if (x & 1)
      at.x += x & 2 ? 1 : -1;
    else
      at.y += x & 2 ? 1 : -1;
    path[step] = at;  //@path_keep
  }
#pragma unroll 1
  for (int step = 399; step >= 0; --step) paths[(399 - step) * 512 + id] = path[step];  //@path_back @path_write
#endif
}

/* labels
clean = true
*/
extern "C" __global__ void xorshift128_walk(const uint4 *__restrict__ seeds, int *__restrict__ ends, int steps) {
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned state[4] = {seeds[id].x, seeds[id].y, seeds[id].z, seeds[id].w};
  int at = 0;
#pragma unroll 1
  for (int i = 0; i < steps; ++i) {
    unsigned t = state[3];
#pragma unroll
    for (int k = 3; k > 0; --k) state[k] = state[k - 1];
    t ^= t << 11;
    t ^= t >> 8;
    state[0] = t ^ state[1] ^ (state[1] >> 19);
    at += state[0] >> 31 ? 1 : -1;
  }
  ends[id] = at;
}
