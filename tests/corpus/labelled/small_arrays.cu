// A few elements: kept in registers by ptxas, or not. Labels were proven with -DEXPERIMENT.

#ifdef EXPERIMENT
#define AT(run_time, constant) (constant)
#define ROLLED _Pragma("unroll")
#else
#define AT(run_time, constant) (run_time)
#define ROLLED _Pragma("unroll 1")
#endif

/* labels
promoted = ["weight"]
*/
extern "C" __global__ void bicubic_rows(const float *x, float *y, float t) {
  float weight[4];
  weight[0] = ((-0.5f * t + 1.0f) * t - 0.5f) * t;
  weight[1] = (1.5f * t - 2.5f) * t * t + 1.0f;
  weight[2] = ((-1.5f * t + 2.0f) * t + 0.5f) * t;
  weight[3] = (0.5f * t - 0.5f) * t * t;
  y[threadIdx.x] = weight[threadIdx.x & 3] * x[threadIdx.x];
}

/* labels
promoted = ["rotation"]
*/
extern "C" __global__ void rotation_row(const float *x, float3 *y, int axis) {
  float rotation[3][3];
  for (int e = 0; e < 9; ++e) rotation[e / 3][e % 3] = x[e * 128 + threadIdx.x];
  y[threadIdx.x] = make_float3(rotation[axis][0], rotation[axis][1], rotation[axis][2]);
}

/* labels
promoted = ["bases"]
*/
extern "C" __global__ void base_of_lane(const int *rows, int *out) {
  int bases[32];
#pragma unroll
  for (int r = 0; r < 32; ++r) bases[r] = rows[r * 64 + blockIdx.x] * 3;
  out[blockIdx.x * 32 + threadIdx.x] = bases[threadIdx.x & 31];
}

/* labels
promoted = ["votes"]
promoted_archs = ["sm_75", "sm_80", "sm_90"]
[[find]]
cause = "dynamic-index"
object = "votes"
type = "int[6]"
size = 24
declared = "votes"
lines = ["votes", "votes_add", "votes_first", "votes_most"]
primary = ["votes_add"]
index = ["[label]"]
sources = ["memory labels"]
uniformity = "data-dependent"
archs = ["sm_100", "sm_120"]
*/
extern "C" __global__ void majority_of_6(const int *labels, int *out, int n) {
  int votes[6] = {0, 0, 0, 0, 0, 0};  //@votes
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const int label = AT(labels[i * 64 + threadIdx.x], 4);
    votes[label]++;  //@votes_add
  }
  int best = 0, most = votes[0];  //@votes_first
#pragma unroll
  for (int v = 1; v < 6; ++v) {
    const int count = votes[v];  //@votes_most
    if (count > most) most = count, best = v;
  }
  out[threadIdx.x] = best;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "edge"
type = "double[12]"
size = 96
declared = "edge"
lines = ["edge_length", "edge_from", "edge_to"]
primary = ["edge_from", "edge_to"]
index = ["[from]", "[to]"]
sources = ["memory which"]
uniformity = ["data-dependent", "uniform"]
*/
extern "C" __global__ void edge_difference(const double *x, double *y, const int2 *which) {
  double edge[12];  //@edge
#pragma unroll
  for (int e = 0; e < 12; ++e) edge[e] = x[e * 64 + threadIdx.x] * x[(e + 1) * 64 + threadIdx.x];  //@edge_length
  const int from = AT(which[threadIdx.x].x, 2), to = AT(which[blockIdx.x].y, 10);
  const double start = edge[from];         //@edge_from
  y[threadIdx.x] = start - edge[to];       //@edge_to
}

/* labels
[[find]]
cause = "dynamic-index"
object = "shift_of"
type = "short[12]"
size = 24
declared = "shift_of"
lines = ["shift_of_load", "shift_of_use"]
primary = ["shift_of_use"]
index = ["[octave]"]
sources = ["parameter pitch", "block-id blockIdx.y"]
uniformity = "uniform"
*/
extern "C" __global__ void semitone_shift(const short *x, short *y, int pitch) {
  short shift_of[12];  //@shift_of
#pragma unroll
  for (int e = 0; e < 12; ++e) shift_of[e] = x[e * 64 + threadIdx.x] * 3;  //@shift_of_load
  const int octave = AT((pitch + blockIdx.y) % 12, 5);
  y[threadIdx.x] = shift_of[octave];  //@shift_of_use
}

/* labels
[[find]]
cause = "rolled-loop"
object = "tap"
type = "float[9]"
size = 36
declared = "tap"
lines = ["tap_load", "tap_use"]
primary = ["tap_loading", "tap_using"]
index = ["[e]", "[8 - e]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void nine_taps_backwards(const float *x, float *y) {
  float tap[9];  //@tap
  ROLLED
  for (int e = 0; e < 9; ++e)            //@tap_loading
    tap[e] = x[e * 64 + threadIdx.x];    //@tap_load
  float s = 0.0f;
  ROLLED
  for (int e = 0; e < 9; ++e)  //@tap_using
    s = s * 0.5f + tap[8 - e]; //@tap_use
  y[threadIdx.x] = s;
}

/* labels
promoted = ["corner"]
promoted_archs = ["sm_75", "sm_80", "sm_90"]
[[find]]
cause = "dynamic-index"
object = "corner"
type = "float4[6]"
size = 96
declared = "corner"
lines = ["corner_load", "corner_pick", "corner_clear", "corner_third"]
primary = ["corner_pick", "corner_clear"]
index = ["[side]", "[side + 1]"]
sources = ["parameter first"]
uniformity = "uniform"
archs = ["sm_100", "sm_120"]
*/
extern "C" __global__ void prism_corners(const float4 *x, float4 *y, int first) {
  float4 corner[6];  //@corner
#pragma unroll
  for (int e = 0; e < 6; ++e) corner[e] = x[e * 64 + threadIdx.x];  //@corner_load
  const int side = AT(first, 1);
  y[threadIdx.x] = corner[side];      //@corner_pick
  corner[side + 1].x = 0.0f;          //@corner_clear
  y[threadIdx.x + 64] = corner[2];    //@corner_third
}

/* labels
[[find]]
cause = "dynamic-index"
object = "nearest"
type = "float[16]"
size = 64
declared = "nearest"
lines = ["nearest_fill", "nearest_worst", "nearest_shift", "nearest_move", "nearest_put", "nearest_out"]
primary = ["nearest_put"]
index = ["[AT(slot, 3)]", "[slot]"]
sources = ["memory nearest", "memory x"]
optional = ["loop-counter constant", "loop-counter run-time"]
uniformity = "data-dependent"
[[find]]
cause = "dynamic-index"
object = "owner"
type = "int[16]"
size = 64
declared = "owner"
lines = ["owner_move", "owner_put", "owner_out"]
primary = ["owner_put"]
index = ["[AT(slot, 3)]", "[slot]"]
sources = ["memory nearest", "memory x"]
optional = ["loop-counter constant", "loop-counter run-time"]
uniformity = "data-dependent"
*/
extern "C" __global__ void nearest_sixteen(float *y, int *z, const float *x, int n) {
  float nearest[16];  //@nearest
  int owner[16];  //@owner
  for (int i = 0; i < 16; ++i) nearest[i] = 1e30f;  //@nearest_fill
  for (int i = 0; i < n; ++i) {
    const float distance = x[i * blockDim.x + threadIdx.x];
    if (distance < nearest[15]) {  //@nearest_worst
      int slot = 15;
      while (slot > 0 && nearest[slot - 1] > distance) {  //@nearest_shift
        nearest[slot] = nearest[slot - 1];  //@nearest_move
        owner[slot] = owner[slot - 1];  //@owner_move
        --slot;
      }
      nearest[AT(slot, 3)] = distance;  //@nearest_put
      owner[AT(slot, 3)] = i;  //@owner_put
    }
  }
  for (int i = 0; i < 16; ++i) y[i * blockDim.x + threadIdx.x] = nearest[i];  //@nearest_out
  for (int i = 0; i < 16; ++i) z[i * blockDim.x + threadIdx.x] = owner[i];  //@owner_out
}
