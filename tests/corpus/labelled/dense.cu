// Small dense matrices, polynomials, differential equations. Labels were proven with -DEXPERIMENT.

#ifdef EXPERIMENT
#define AT(run_time, constant) (constant)
#define ROLLED _Pragma("unroll")
#define FOR_UP_TO(i, limit, maximum) for (int i = 0; i < maximum; ++i) if (i < limit)
#else
#define AT(run_time, constant) (run_time)
#define ROLLED _Pragma("unroll 1")
#define FOR_UP_TO(i, limit, maximum) for (int i = 0; i < limit; ++i)
#endif

/* labels
[[find]]
cause = "dynamic-index"
object = "a"
type = "double[6][6]"
size = 288
declared = "a"
lines = ["a_load", "a_best", "a_search", "a_pivot_row", "a_swap", "a_diagonal", "a_ratio", "a_ratio_put", "a_right", "a_update", "a_store"]
primary = ["a_best", "a_search", "a_pivot_row", "a_swap", "a_diagonal", "a_ratio", "a_ratio_put", "a_right", "a_update"]
index = ["[k][k]", "[r][k]", "[chosen][c]", "[k][c]", "[r][c]"]
sources = ["loop-counter constant", "memory a"]
uniformity = ["data-dependent", "uniform"]
*/
extern "C" __global__ void lu_6x6_pivoting(const double *in, double *out) {
  double a[6][6];  //@a
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int e = 0; e < 36; ++e) a[e / 6][e % 6] = in[e * 4096 + t];  //@a_load
  ROLLED
  for (int k = 0; k < 5; ++k) {
    int pivot = k;
    double largest = fabs(a[k][k]);  //@a_best
    ROLLED
    for (int r = 1; r < 6; ++r) {
      if (r > k && fabs(a[r][k]) > largest) largest = fabs(a[r][k]), pivot = r;  //@a_search
    }
    const int chosen = AT(pivot, 4);
    ROLLED
    for (int c = 0; c < 6; ++c) {
      const double held = a[chosen][c];        //@a_pivot_row
      a[chosen][c] = a[k][c], a[k][c] = held;  //@a_swap
    }
    const double inverse = 1.0 / a[k][k];  //@a_diagonal
    ROLLED
    for (int r = 1; r < 6; ++r) {
      if (r <= k) continue;
      const double ratio = a[r][k] * inverse;  //@a_ratio
      a[r][k] = ratio;                         //@a_ratio_put
      ROLLED
      for (int c = 1; c < 6; ++c) {
        if (c <= k) continue;
        const double right = a[k][c];  //@a_right
        a[r][c] -= ratio * right;      //@a_update
      }
    }
  }
#pragma unroll
  for (int e = 0; e < 36; ++e) out[e * 4096 + t] = a[e / 6][e % 6];  //@a_store
}

/* labels
clean = true
*/
extern "C" __global__ void solve_4x4_conditional_swaps(const float *in, float *out) {
  float a[4][5];
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int e = 0; e < 20; ++e) a[e / 5][e % 5] = in[e * 4096 + t];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
#pragma unroll
    for (int r = k + 1; r < 4; ++r) {
      const bool larger = fabsf(a[r][k]) > fabsf(a[k][k]);
#pragma unroll
      for (int c = k; c < 5; ++c) {
        const float up = larger ? a[r][c] : a[k][c], down = larger ? a[k][c] : a[r][c];
        a[k][c] = up, a[r][c] = down;
      }
    }
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      if (r == k) continue;
      const float ratio = a[r][k] / a[k][k];
#pragma unroll
      for (int c = k; c < 5; ++c) a[r][c] -= ratio * a[k][c];
    }
  }
#pragma unroll
  for (int r = 0; r < 4; ++r) out[r * 4096 + t] = a[r][4] / a[r][r];
}

/* labels
[[find]]
cause = "rolled-loop"
object = "lower"
type = "float[36]"
size = 144
declared = "lower"
lines = ["lower_load", "lower_sum", "lower_left", "lower_right", "lower_diagonal", "lower_put", "lower_store"]
primary = ["lower_filling", "lower_rows", "lower_columns", "lower_products", "lower_storing"]
index = ["[e]", "[i * (i + 1) / 2 + j]", "[i * (i + 1) / 2 + k]", "[j * (j + 1) / 2 + k]", "[j * (j + 1) / 2 + j]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void cholesky_packed_8(const float *in, float *out) {
  float lower[36];  //@lower
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  ROLLED
  for (int e = 0; e < 36; ++e)      //@lower_filling
    lower[e] = in[e * 8192 + t];    //@lower_load
  ROLLED
  for (int i = 0; i < 8; ++i) {  //@lower_rows
    ROLLED
    FOR_UP_TO(j, i + 1, 8) {  //@lower_columns
      float sum = lower[i * (i + 1) / 2 + j];  //@lower_sum
      ROLLED
      FOR_UP_TO(k, j, 8) {  //@lower_products
        const float left = lower[i * (i + 1) / 2 + k];  //@lower_left
        sum -= left * lower[j * (j + 1) / 2 + k];       //@lower_right
      }
      if (i == j)
        sum = sqrtf(sum);
      else
        sum /= lower[j * (j + 1) / 2 + j];  //@lower_diagonal
      lower[i * (i + 1) / 2 + j] = sum;     //@lower_put
    }
  }
  ROLLED
  for (int e = 0; e < 36; ++e)     //@lower_storing
    out[e * 8192 + t] = lower[e];  //@lower_store
}

/* labels
[[find]]
cause = "dynamic-index"
object = "system"
type = "float[9][10]"
size = 360
declared = "system"
lines = ["system_load", "system_pivot", "system_factor", "system_row", "system_eliminate", "system_last", "system_diagonal"]
primary = ["system_load", "system_pivot", "system_factor", "system_row", "system_eliminate", "system_last", "system_diagonal"]
index = ["[r][c]", "[k][k]", "[r][k]", "[k][c]", "[r][unknowns]", "[r][r]"]
sources = ["loop-counter run-time", "parameter size"]
uniformity = "uniform"
*/
extern "C" __global__ void gauss_jordan_up_to_9(const float *in, float *out, int size) {
#ifdef EXPERIMENT
  const int unknowns = 4;
#else
  const int unknowns = size;
#endif
  float system[9][10];  //@system
  const float *mine = in + (blockIdx.x * blockDim.x + threadIdx.x) * 90;
  ROLLED
  for (int r = 0; r < unknowns; ++r) {
    ROLLED
    for (int c = 0; c <= unknowns; ++c) system[r][c] = mine[r * 10 + c];  //@system_load
  }
  ROLLED
  for (int k = 0; k < unknowns; ++k) {
    const float pivot = 1.0f / system[k][k];  //@system_pivot
    ROLLED
    for (int r = 0; r < unknowns; ++r) {
      if (r == k) continue;
      const float factor = system[r][k] * pivot;  //@system_factor
      ROLLED
      for (int c = 0; c <= unknowns; ++c) {
        const float above = system[k][c];   //@system_row
        system[r][c] -= factor * above;     //@system_eliminate
      }
    }
  }
  ROLLED
  for (int r = 0; r < unknowns; ++r) {
    const float last = system[r][unknowns];  //@system_last
    out[r * 4096 + threadIdx.x] = last / system[r][r];  //@system_diagonal
  }
}

/* labels
[[find]]
cause = "rolled-loop"
object = "column"
type = "float[4][12]"
size = 192
declared = "column"
lines = ["column_load", "column_norm", "column_scale", "column_dot_left", "column_dot_right", "column_from", "column_minus", "column_store"]
primary = ["column_loading", "column_rows", "column_steps", "column_norming", "column_scaling", "column_others", "column_dotting", "column_subtracting", "column_storing", "column_out_rows"]
index = ["[c][r]", "[k][r]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void gram_schmidt_12x4(const float *in, float *out) {
  float column[4][12];  //@column
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  ROLLED
  for (int c = 0; c < 4; ++c) {  //@column_loading
    ROLLED
    for (int r = 0; r < 12; ++r)                         //@column_rows
      column[c][r] = in[(c * 12 + r) * 4096 + t];        //@column_load
  }
  ROLLED
  for (int k = 0; k < 4; ++k) {  //@column_steps
    float norm = 0.0f;
    ROLLED
    for (int r = 0; r < 12; ++r) {  //@column_norming
      const float e = column[k][r];  //@column_norm
      norm = fmaf(e, e, norm);
    }
    const float scale = rsqrtf(norm);
    ROLLED
    for (int r = 0; r < 12; ++r)  //@column_scaling
      column[k][r] *= scale;      //@column_scale
    ROLLED
    for (int c = 0; c < 4; ++c) {  //@column_others
      if (c <= k) continue;
      float dot = 0.0f;
      ROLLED
      for (int r = 0; r < 12; ++r) {  //@column_dotting
        const float left = column[k][r];      //@column_dot_left
        dot = fmaf(left, column[c][r], dot);  //@column_dot_right
      }
      ROLLED
      for (int r = 0; r < 12; ++r) {  //@column_subtracting
        const float from = column[k][r];  //@column_from
        column[c][r] -= dot * from;       //@column_minus
      }
    }
  }
  ROLLED
  for (int c = 0; c < 4; ++c) {  //@column_storing
    ROLLED
    for (int r = 0; r < 12; ++r)                     //@column_out_rows
      out[(c * 12 + r) * 4096 + t] = column[c][r];   //@column_store
  }
}

/* labels
[[find]]
cause = "large-array"
object = "upper"
type = "double[160]"
size = 1280
declared = "upper"
lines = ["upper_first", "upper_put", "upper_back"]
primary = ["upper_put", "upper_back", "forward", "backward"]
index = ["[i]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
[[find]]
cause = "large-array"
object = "solved"
type = "double[160]"
size = 1280
declared = "solved"
lines = ["solved_first", "solved_put", "solved_back"]
primary = ["solved_put", "solved_back", "forward", "backward"]
index = ["[i]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void thomas_160(const double *rhs, double *x, double lower, double diagonal) {
#ifdef EXPERIMENT
  const int n = 8;
#else
  const int n = 160;
#endif
  double upper[n];   //@upper
  double solved[n];  //@solved
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  double u = lower / diagonal, known = rhs[t] / diagonal;
  upper[0] = u;       //@upper_first
  solved[0] = known;  //@solved_first
  ROLLED
  for (int i = 1; i < n; ++i) {  //@forward
    const double m = 1.0 / (diagonal - lower * u);
    u = lower * m;
    known = (rhs[i * 8192 + t] - lower * known) * m;
    upper[i] = u;       //@upper_put
    solved[i] = known;  //@solved_put
  }
  x[(n - 1) * 8192 + t] = known;
  ROLLED
  for (int i = n - 2; i >= 0; --i) {  //@backward
    const double above = upper[i];      //@upper_back
    known = solved[i] - above * known;  //@solved_back
    x[i * 8192 + t] = known;
  }
}

/* labels
[[find]]
cause = "rolled-loop"
object = "slope"
type = "float[6][4]"
size = 96
declared = "slope"
lines = ["slope_use", "slope_put", "slope_last"]
primary = ["stages", "earlier"]
index = ["[before][c]", "[stage][c]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
[[find]]
cause = ["const-table", "rolled-loop"]
object = "tableau"
type = "const float[15]"
size = 60
declared = "tableau"
lines = ["tableau", "tableau_use"]
primary = ["tableau_use", "stages", "earlier"]
index = ["[stage * (stage - 1) / 2 + before]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void runge_kutta_fehlberg(float4 *states, float h, float mu, int steps) {
  const float tableau[15] = {0.25f, 0.09375f, 0.28125f, 0.8793f, -3.2772f, 3.3209f, 2.0324f, -8.0f, 7.1735f, -0.2059f, -0.2963f, 2.0f, -1.3817f, 0.453f, -0.275f};  //@tableau
  const float4 loaded = states[blockIdx.x * blockDim.x + threadIdx.x];
  float y[4] = {loaded.x, loaded.y, loaded.z, loaded.w};
#pragma unroll 1
  for (int s = 0; s < steps; ++s) {
    float slope[6][4];  //@slope
    ROLLED
    for (int stage = 0; stage < 6; ++stage) {  //@stages
      float at[4] = {y[0], y[1], y[2], y[3]};
      ROLLED
      FOR_UP_TO(before, stage, 6) {  //@earlier
        const float weight = h * tableau[stage * (stage - 1) / 2 + before];  //@tableau_use
#pragma unroll
        for (int c = 0; c < 4; ++c) at[c] += weight * slope[before][c];  //@slope_use
      }
      const float pull = mu / (at[0] * at[0] + at[1] * at[1] + 1e-6f);
      const float f[4] = {at[2], at[3], -pull * at[0], -pull * at[1]};
#pragma unroll
      for (int c = 0; c < 4; ++c) slope[stage][c] = f[c];  //@slope_put
    }
#pragma unroll
    for (int c = 0; c < 4; ++c)
      y[c] += h * (0.1185f * slope[0][c] + 0.519f * slope[2][c] + 0.5061f * slope[3][c] - 0.18f * slope[4][c] + 0.0364f * slope[5][c]);  //@slope_last
  }
  states[blockIdx.x * blockDim.x + threadIdx.x] = make_float4(y[0], y[1], y[2], y[3]);
}

/* labels
clean = true
*/
extern "C" __global__ void runge_kutta_4(float *states, float h, int steps) {
  float y[3], k[4][3];
#pragma unroll
  for (int c = 0; c < 3; ++c) y[c] = states[c * 4096 + threadIdx.x];
  for (int s = 0; s < steps; ++s) {
#pragma unroll
    for (int stage = 0; stage < 4; ++stage) {
      const float part = stage == 0 ? 0.0f : stage == 3 ? h : 0.5f * h;
      const float x = y[0] + part * k[stage ? stage - 1 : 0][0];
      const float v = y[1] + part * k[stage ? stage - 1 : 0][1];
      const float w = y[2] + part * k[stage ? stage - 1 : 0][2];
      k[stage][0] = 10.0f * (v - x);
      k[stage][1] = x * (28.0f - w) - v;
      k[stage][2] = x * v - 2.6667f * w;
    }
#pragma unroll
    for (int c = 0; c < 3; ++c) y[c] += h / 6.0f * (k[0][c] + 2.0f * (k[1][c] + k[2][c]) + k[3][c]);
  }
#pragma unroll
  for (int c = 0; c < 3; ++c) states[c * 4096 + threadIdx.x] = y[c];
}

/* labels
[[find]]
cause = "dynamic-index"
object = "coefficient"
type = "double[28]"
size = 224
declared = "coefficient"
lines = ["coefficient_load", "coefficient_use"]
primary = ["coefficient_use"]
index = ["[power]"]
sources = ["loop-counter run-time", "parameter degree"]
uniformity = "uniform"
*/
extern "C" __global__ void horner(const double *c, const double *x, double *y, int degree, int n) {
  double coefficient[28];  //@coefficient
#pragma unroll
  for (int p = 0; p < 28; ++p) coefficient[p] = c[p * 1024 + threadIdx.x] / (p + 1);  //@coefficient_load
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    double sum = 0.0;
#pragma unroll 1
    for (int p = degree; p >= 0; --p) {
      const int power = AT(p, 6);
      sum = fma(sum, x[i], coefficient[power]);  //@coefficient_use
    }
    y[i * 1024 + threadIdx.x] = sum;
  }
}

/* labels
[[find]]
cause = "rolled-loop"
object = "root"
type = "float2[10]"
size = 80
declared = "root"
lines = ["root_start", "root_own", "root_other", "root_move", "root_store"]
primary = ["root_starting", "root_each", "root_others", "root_storing"]
index = ["[i]", "[j]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void durand_kerner(const float *coefficients, float2 *roots, float tolerance) {
  float2 root[10];  //@root
  const float a = coefficients[blockIdx.x * blockDim.x + threadIdx.x];
  ROLLED
  for (int i = 0; i < 10; ++i)                                   //@root_starting
    root[i] = make_float2(0.4f + 0.1f * i * a, 0.9f - 0.2f * i); //@root_start
  float moved = 1.0f;
  while (moved > tolerance) {
    moved = 0.0f;
    ROLLED
    for (int i = 0; i < 10; ++i) {  //@root_each
      const float2 z = root[i];     //@root_own
      float2 q = make_float2(1.0f, 0.0f);
      ROLLED
      for (int j = 0; j < 10; ++j) {  //@root_others
        if (j == i) continue;
        const float2 w = root[j];  //@root_other
        const float re = z.x - w.x, im = z.y - w.y;
        q = make_float2(q.x * re - q.y * im, q.x * im + q.y * re);
      }
      const float size = q.x * q.x + q.y * q.y + 1e-20f;
      const float2 step = make_float2((a * z.x + 1.0f) * q.x / size, a * z.y * q.y / size);
      root[i] = make_float2(z.x - step.x, z.y - step.y);  //@root_move
      moved = fmaxf(moved, fabsf(step.x) + fabsf(step.y));
    }
  }
  ROLLED
  for (int i = 0; i < 10; ++i)                     //@root_storing
    roots[i * 4096 + threadIdx.x] = root[i];       //@root_store
}

#ifdef EXPERIMENT
#define SIDE 4
#else
#define SIDE 12
#endif

struct Matrix {
  double e[SIDE][SIDE];
};

__device__ __forceinline__ double trace_of_square(const Matrix &m) {
  double sum = 0.0;
  ROLLED
  for (int i = 0; i < SIDE; ++i) {  //@square_rows
    ROLLED
    for (int j = 0; j < SIDE; ++j) {  //@square_columns
      const double straight = m.e[i][j];  //@matrix_straight
      sum += straight * m.e[j][i];        //@matrix_crossed
    }
  }
  return sum;
}

/* labels
[[find]]
cause = "large-array"
object = "matrix.e"
type = "double[12][12]"
size = 1152
declared = "matrix"
lines = ["matrix_fill", "matrix_straight", "matrix_crossed"]
primary = ["matrix_fill", "matrix_straight", "matrix_crossed", "square_rows", "square_columns", "fill_rows", "fill_columns"]
index = ["[i][j]", "[j][i]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void trace_12x12(const double *in, double *out) {
  Matrix matrix;  //@matrix
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  ROLLED
  for (int i = 0; i < SIDE; ++i) {  //@fill_rows
    ROLLED
    for (int j = 0; j < SIDE; ++j)                             //@fill_columns
      matrix.e[i][j] = in[(i * SIDE + j) * 4096 + t];  //@matrix_fill
  }
  out[t] = trace_of_square(matrix);
}
