// Double-precision sine.
//
// Expect: wave_any has a 40-byte frame: for huge arguments the library's range reduction takes a
// slow path that indexes a table of 2/pi at run time. wave_turns has none: sinpi reduces its
// argument exactly without that table.

extern "C" __global__ void wave_any(double *x) { x[threadIdx.x] = sin(x[threadIdx.x]); }

extern "C" __global__ void wave_turns(double *turns) {
  turns[threadIdx.x] = sinpi(2.0 * turns[threadIdx.x]);
}
