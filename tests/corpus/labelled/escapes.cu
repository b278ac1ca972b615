// Addresses, calls, parameters, volatile, messages. -DEXPERIMENT takes the cause of local memory
// away from every kernel here: its frame is then 0, or `experiment_frame`.

#ifdef EXPERIMENT
#define AT(run_time, constant) (constant)
#define CALLED __forceinline__
#define VOLATILE
#define BY_VALUE const __grid_constant__
#define REPORT(...) ((void)0)
#else
#define AT(run_time, constant) (run_time)
#define CALLED __noinline__
#define VOLATILE volatile
#define BY_VALUE
#define REPORT(...) printf(__VA_ARGS__)
#endif

__device__ CALLED void smooth(float *values, float weight) {
#pragma unroll
  for (int i = 1; i < 24; ++i) values[i] += values[i - 1] * weight;  //@smooth_step
}

/* labels
[[find]]
cause = "address-taken"
object = "samples"
type = "float[24]"
size = 96
declared = "smoothed_samples"
lines = ["smoothed_fill", "smooth_step", "smoothed_pick"]
primary = ["smoothed_call"]
also = ["dynamic-index"]
*/
extern "C" __global__ void passed_and_indexed(const float *x, const int *k, float *y, int n) {
  float samples[24];  //@smoothed_samples
#pragma unroll
  for (int i = 0; i < 24; ++i) samples[i] = x[i * 32 + threadIdx.x];  //@smoothed_fill
  smooth(samples, 0.25f);                                             //@smoothed_call
  float sum = 0.0f;
#pragma unroll 1
  for (int i = 0; i < n; ++i) sum += samples[AT(k[i], 3)];  //@smoothed_pick
  y[threadIdx.x] = sum;
}

struct Quaternion {
  float w, x, y, z;
};

__device__ CALLED void normalise(Quaternion &q) {
  const float scale = rsqrtf(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);  //@normalise_read
  q.w *= scale;                                                               //@normalise_w
  q.x *= scale;                                                               //@normalise_x
  q.y *= scale;                                                               //@normalise_y
  q.z *= scale;                                                               //@normalise_z
}

/* labels
[[find]]
cause = "address-taken"
object = "turn"
type = "Quaternion"
size = 16
declared = "turn_declared"
lines = ["turn_declared", "turn_read", "normalise_read", "normalise_w", "normalise_x", "normalise_y", "normalise_z"]
primary = ["turn_call"]
*/
extern "C" __global__ void structure_by_reference(const float4 *in, float4 *out) {
  const float4 given = in[threadIdx.x];
  Quaternion turn = {given.w, given.x, given.y, given.z};  //@turn_declared
  normalise(turn);                                         //@turn_call
  out[threadIdx.x] = make_float4(turn.x, turn.y, turn.z, turn.w);  //@turn_read
}

/* labels
[[find]]
cause = "address-taken"
object = "red"
type = "float[6]"
size = 24
declared = "planes_red"
lines = ["planes_fill_red", "planes_read"]
primary = ["planes_pointers"]

[[find]]
cause = "address-taken"
object = "green"
type = "float[9]"
size = 36
declared = "planes_green"
lines = ["planes_fill_green", "planes_read"]
primary = ["planes_pointers"]

[[find]]
cause = "address-taken"
object = "blue"
type = "float[12]"
size = 48
declared = "planes_blue"
lines = ["planes_fill_blue", "planes_read"]
primary = ["planes_pointers"]

[[find]]
cause = "address-taken"
also = ["dynamic-index"]
object = "planes"
type = "const float *[3]"
size = 24
declared = "planes_pointers"
lines = ["planes_pointers", "planes_choose"]
primary = ["planes_choose"]
index = ["[AT(which[i], 1)]", "[which[i]]"]
sources = ["memory which"]
uniformity = "uniform"
*/
extern "C" __global__ void pointers_to_locals(const float *x, const int *which, float *y, int n) {
  float red[6];     //@planes_red
  float green[9];   //@planes_green
  float blue[12];   //@planes_blue
#pragma unroll
  for (int i = 0; i < 6; ++i) red[i] = x[i];  //@planes_fill_red
#pragma unroll
  for (int i = 0; i < 9; ++i) green[i] = x[i] * 2.0f;  //@planes_fill_green
#pragma unroll
  for (int i = 0; i < 12; ++i) blue[i] = x[i] * 3.0f;  //@planes_fill_blue
  const float *planes[3] = {red, green, blue};  //@planes_pointers
  float sum = 0.0f;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const float *plane = planes[AT(which[i], 1)];  //@planes_choose
    sum = sum * 0.5f + plane[2];                  //@planes_read
  }
  y[threadIdx.x] = sum;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "front"
type = "float[20]"
size = 80
declared = "buffers_front"
lines = ["buffers_fill", "buffers_step", "buffers_result"]
primary = ["buffers_step"]
index = ["[AT(i % 20, 3)]", "[AT((i + 7) % 20, 5)]", "[i % 20]", "[(i + 7) % 20]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"

[[find]]
cause = "dynamic-index"
object = "back"
type = "float[20]"
size = 80
declared = "buffers_back"
lines = ["buffers_clear", "buffers_step", "buffers_result"]
primary = ["buffers_step"]
index = ["[AT(i % 20, 3)]", "[AT((i + 7) % 20, 5)]", "[i % 20]", "[(i + 7) % 20]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void double_buffer(const float *x, float *y, int steps) {
  float front[20];  //@buffers_front
  float back[20];   //@buffers_back
#pragma unroll
  for (int i = 0; i < 20; ++i) front[i] = x[i * 32 + threadIdx.x];  //@buffers_fill
#pragma unroll
  for (int i = 0; i < 20; ++i) back[i] = 0.0f;  //@buffers_clear
  float *from = front, *to = back;
#pragma unroll 1
  for (int i = 0; i < steps; ++i) {
    to[AT(i % 20, 3)] += from[AT((i + 7) % 20, 5)];  //@buffers_step
#ifndef EXPERIMENT
    float *const swap = from;
    from = to;
    to = swap;
#endif
  }
#pragma unroll
  for (int i = 0; i < 20; ++i) y[i * 32 + threadIdx.x] = front[i] - back[i];  //@buffers_result
}

struct View {
  float *data;
  int length;
};

__device__ CALLED float largest(View view) {
  float best = view.data[0];                                            //@largest_first
  for (int i = 1; i < AT(view.length, 10); ++i) best = fmaxf(best, view.data[i]);  //@largest_next
  return best;
}

/* labels
[[find]]
cause = "address-taken"
object = "window"
type = "float[10]"
size = 40
declared = "view_window"
lines = ["view_fill", "largest_first", "largest_next"]
primary = ["view_call", "view_made"]
*/
extern "C" __global__ void through_a_view(const float *x, float *y) {
  float window[10];  //@view_window
#pragma unroll
  for (int i = 0; i < 10; ++i) window[i] = x[i * 32 + threadIdx.x];  //@view_fill
  const View view = {window, 10};                                    //@view_made
  y[threadIdx.x] = largest(view);                                    //@view_call
}

struct Header {
  unsigned short kind;
  unsigned short length;
  unsigned sequence;
  unsigned long long stamp;
};

__device__ CALLED unsigned checksum(const unsigned char *bytes) {
  unsigned sum = 1;
#pragma unroll
  for (int i = 0; i < 16; ++i) sum = sum * 31 + bytes[i];  //@checksum_byte
  return sum;
}

/* labels
[[find]]
cause = "address-taken"
object = "header"
type = ["const Header", "Header"]
size = 16
declared = "header_declared"
lines = ["header_declared", "checksum_byte"]
primary = ["header_call"]
*/
extern "C" __global__ void bytes_of_a_structure(const unsigned *x, unsigned *y,
                                                unsigned short kind) {
  const Header header = {kind, 16, x[threadIdx.x], 0x1234567890ull};  //@header_declared
  y[threadIdx.x] = checksum(reinterpret_cast<const unsigned char *>(&header));  //@header_call
}

/* labels
[[find]]
cause = "dynamic-index"
object = "packet"
type = "unsigned char[48]"
size = 48
declared = "packet_declared"
lines = ["packet_head", "packet_body", "packet_read"]
primary = ["packet_read"]
sources = ["memory fields"]
uniformity = "data-dependent"
*/
extern "C" __global__ void copied_bytes(const uint4 *x, const int *fields, unsigned *y) {
  __align__(16) unsigned char packet[48];  //@packet_declared
  const unsigned long long head = x[0].x * 0x100000001ull;
  memcpy(packet, &head, sizeof head);  //@packet_head
#pragma unroll
  for (int i = 8; i < 48; ++i) packet[i] = x[i].y;  //@packet_body
  unsigned field;
  memcpy(&field, packet + AT(fields[threadIdx.x], 12), sizeof field);  //@packet_read
  y[threadIdx.x] = field;
}

/* labels
[[find]]
cause = "address-taken"
object = "pair"
type = "float[2]"
size = 8
declared = "pair_declared"
lines = ["pair_declared", "pair_assembly"]
primary = ["pair_assembly"]
*/
extern "C" __global__ void address_in_assembly(const float *x, float *y) {
  float pair[2] = {x[threadIdx.x], x[threadIdx.x + 32]};  //@pair_declared
  float sum;
#ifdef EXPERIMENT
  sum = pair[0] + pair[1];
#else
  asm volatile("{ .reg .f32 a, b; ld.v2.f32 {a, b}, [%1]; add.f32 %0, a, b; }"  //@pair_assembly
               : "=f"(sum)
               : "l"(&pair[0])
               : "memory");
#endif
  y[threadIdx.x] = sum;
}

/* labels
[[find]]
cause = "volatile"
object = "stages"
type = ["volatile int[6]", "int[6]"]
size = 24
declared = "stages_declared"
lines = ["stages_set", "stages_set_too", "stages_get"]
primary = ["stages_set", "stages_set_too", "stages_get"]
*/
extern "C" __global__ void volatile_array(const int *x, int *y) {
  VOLATILE int stages[6];  //@stages_declared
  stages[1] = x[threadIdx.x];  //@stages_set
  stages[4] = x[threadIdx.x + 32];  //@stages_set_too
  y[threadIdx.x] = stages[1] * stages[4];  //@stages_get
}

/* labels
[[find]]
cause = "volatile"
object = "error"
type = ["volatile float", "float"]
size = 4
declared = "error_declared"
lines = ["error_set", "error_get"]
primary = ["error_set", "error_get"]
*/
extern "C" __global__ void compensated_sum(const float *x, float *y, int n) {
  VOLATILE float error;  //@error_declared
  float sum = 0.0f, carried = 0.0f;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const float term = x[i * 32 + threadIdx.x] - carried;
    const float next = sum + term;
    error = next - sum;      //@error_set
    carried = error - term;  //@error_get
    sum = next;
  }
  y[threadIdx.x] = sum;
}

struct Curve {
  float knots[20];
  int first;
};

/* labels
[[find]]
cause = "param-copy"
object = "curve.knots"
type = "float[20]"
size = 80
declared = "curve_declared"
lines = ["curve_declared", "curve_change", "curve_read"]
primary = ["curve_declared", "curve_change", "curve_read"]
index = ["[k[i]]", "[(k[i] + n) % 20]"]
sources = ["memory k", "parameter n"]
uniformity = "uniform"
*/
extern "C" __global__ void curve_changed(BY_VALUE Curve curve, const int *k, float *y, int n) {  //@curve_declared
  float sum = 0.0f;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
#ifndef EXPERIMENT
    curve.knots[k[i]] += 1.0f;  //@curve_change
#endif
    sum += curve.knots[(k[i] + n) % 20];  //@curve_read
  }
  y[threadIdx.x] = sum;
}

/* labels
clean = true
*/
extern "C" __global__ void curve_read_in_place(const __grid_constant__ Curve curve, const int *k,
                                               float *y) {
  y[threadIdx.x] = curve.knots[k[threadIdx.x] + curve.first];
}

/* labels
promoted = ["curve.knots"]
*/
extern "C" __global__ void curve_read_only(Curve curve, const int *k, float *y) {
  y[threadIdx.x] = curve.knots[k[threadIdx.x] + curve.first];
}

/* labels
[[find]]
cause = "dynamic-index"
object = "padded"
type = "float[24]"
size = 96
declared = "partly_padded"
lines = ["partly_fill", "partly_read"]
primary = ["partly_read"]
index = ["[AT(at, 3)]", "[AT(at + 1, 4)]", "[at]", "[at + 1]"]
sources = ["memory k"]
uniformity = "data-dependent"
*/
extern "C" __global__ void partly_a_parameter(const __grid_constant__ Curve curve, const float *ends,
                                              const int *k, float *y, int n) {
  float padded[24];  //@partly_padded
#pragma unroll
  for (int i = 0; i < 24; ++i)
    padded[i] = i < 2 || i > 21 ? ends[i] : curve.knots[i - 2];  //@partly_fill
  float sum = 0.0f;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const int at = k[i * 32 + threadIdx.x];
    sum = sum * 0.5f + padded[AT(at, 3)] * padded[AT(at + 1, 4)];  //@partly_read
  }
  y[threadIdx.x] = sum;
}

/* labels
[[find]]
cause = "printf-args"
lines = ["kinds_report"]
primary = ["kinds_report"]
*/
extern "C" __global__ void several_kinds(const float *x, const char *name, long long limit) {
  const float value = x[threadIdx.x];
  if (value > limit)
    REPORT("%s: %c %d %f above %lld\n", name, 'x', threadIdx.x, value, limit);  //@kinds_report
}

/* labels
[[find]]
cause = "printf-args"
lines = ["state_report"]
primary = ["state_report"]

[[find]]
cause = "dynamic-index"
object = "states"
type = "unsigned char[32]"
size = 32
declared = "states_declared"
lines = ["states_clear", "states_move", "state_report", "states_result"]
primary = ["states_move", "states_result"]
index = ["[AT(symbol, 3)]", "[symbol]", "[AT(threadIdx.y, 9)]", "[threadIdx.y]"]
sources = ["memory text", "thread-id threadIdx.y"]
uniformity = "data-dependent"
*/
extern "C" __global__ void prints_an_element(const unsigned char *text, int *y, int n) {
  unsigned char states[32];  //@states_declared
#pragma unroll
  for (int i = 0; i < 32; ++i) states[i] = 0;  //@states_clear
  for (int i = 0; i < n; ++i) {
    const int symbol = text[i * 32 + threadIdx.x] & 31;
    states[AT(symbol, 3)] ^= i + 1;  //@states_move
  }
  REPORT("state %d\n", states[7]);     //@state_report
  y[threadIdx.x] = states[AT(threadIdx.y, 9)];  //@states_result
}

__device__ int fibonacci(int n) {  //@fibonacci_declared
#ifdef EXPERIMENT
  int a = 0, b = 1;
  for (; n > 0; --n) {
    b += a;
    a = b - a;
  }
  return a;
#else
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);  //@fibonacci_itself
#endif
}

/* labels
[[find]]
cause = "call-frame"
lines = ["fibonacci_declared", "fibonacci_itself"]
primary = ["fibonacci_declared", "fibonacci_itself", "fibonacci_call"]
*/
extern "C" __global__ void recursive_numbers(int *y) {
  y[threadIdx.x] = fibonacci(threadIdx.x & 7);  //@fibonacci_call
}

struct Shape {
  float size;
  __device__ Shape(float size) : size(size) {}  //@shape_constructor
  __device__ virtual float area() const = 0;
};

struct Disc : Shape {
  using Shape::Shape;  //@disc_constructor
  __device__ float area() const override { return 3.14159f * size * size; }  //@disc_area
};

struct Square : Shape {
  using Shape::Shape;  //@square_constructor
  __device__ float area() const override { return size * size; }  //@square_area
};

/* labels
[[find]]
cause = "address-taken"
object = "disc"
type = ["const Disc", "Disc"]
size = 16
declared = "shapes_disc"
lines = ["disc_constructor", "shape_constructor", "disc_area", "shapes_call"]
primary = ["shapes_choice", "shapes_call"]
archs = ["sm_75", "sm_80", "sm_90"]

[[find]]
cause = "address-taken"
object = "disc"
type = ["const Disc", "Disc"]
size = 16
declared = "shapes_disc"
lines = ["disc_constructor", "shape_constructor", "disc_area"]
primary = ["shapes_choice", "shapes_call"]
archs = ["sm_100", "sm_120"]

[[find]]
cause = "address-taken"
object = "square"
type = ["const Square", "Square"]
size = 16
declared = "shapes_square"
lines = ["square_constructor", "shape_constructor", "square_area", "shapes_call"]
primary = ["shapes_choice", "shapes_call"]
archs = ["sm_75", "sm_80", "sm_90"]

[[find]]
cause = "address-taken"
object = "square"
type = ["const Square", "Square"]
size = 16
declared = "shapes_square"
lines = ["square_constructor", "shape_constructor", "square_area"]
primary = ["shapes_choice", "shapes_call"]
archs = ["sm_100", "sm_120"]

[[find]]
cause = "call-frame"
lines = ["disc_area", "square_area"]
primary = ["disc_area", "square_area", "shapes_call"]
*/
extern "C" __global__ void virtual_area(const float *x, float *y) {
  const Disc disc(x[0]);      //@shapes_disc
  const Square square(x[1]);  //@shapes_square
#ifdef EXPERIMENT
  y[threadIdx.x] = x[threadIdx.x] > 0.0f ? disc.Disc::area() : square.Square::area();
#else
  const Shape *shape = x[threadIdx.x] > 0.0f ? static_cast<const Shape *>(&disc) : &square;  //@shapes_choice
  y[threadIdx.x] = shape->area();  //@shapes_call
#endif
}

template <typename Action>
__device__ CALLED void each(const float *x, int n, Action act) {
#pragma unroll 1
  for (int i = 0; i < n; ++i) act(x[i]);
}

/* labels
[[find]]
cause = "address-taken"
object = "total"
type = "float"
size = 4
declared = "each_total"
primary = ["each_call"]
*/
extern "C" __global__ void captured_for_a_call(const float *x, float *y, int n) {
  float total = threadIdx.x;  //@each_total
  each(x, n, [&total](float value) {  //@each_call
    total += value * value;
  });
  y[threadIdx.x] = total;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "matrix"
type = "float[4][8]"
size = 128
declared = "rows_matrix"
lines = ["rows_fill", "rows_read"]
primary = ["rows_read"]
index = ["[AT(k, 2)][AT(i % 8, 5)]", "[k][i % 8]"]
sources = ["parameter k", "loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void pointer_to_rows(const float *x, float *y, int n, int k) {
  float matrix[4][8];  //@rows_matrix
#pragma unroll
  for (int i = 0; i < 32; ++i) matrix[i / 8][i % 8] = x[i * 32 + threadIdx.x];  //@rows_fill
  const float(*rows)[8] = matrix;
  float sum = 0.0f;
#pragma unroll 1
  for (int i = 0; i < n; ++i) sum = sum * 0.5f + rows[AT(k, 2)][AT(i % 8, 5)];  //@rows_read
  y[threadIdx.x] = sum;
}

/* labels
clean = true
*/
extern "C" __global__ void parameter_member_changed(Curve curve, float *y, int n) {
  curve.first += n;
  y[threadIdx.x] = curve.knots[3] * curve.first;
}

/* labels
clean = true
*/
extern "C" __global__ void asserts(const float *x, float *y) {
  const float value = x[threadIdx.x];
  assert(value >= 0.0f);
  y[threadIdx.x] = sqrtf(value);
}
