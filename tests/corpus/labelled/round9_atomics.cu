// Labels: tests/labels.py says what they mean. Causes: cuda::atomic and cuda::atomic_ref ask where a
// pointer leads, and have a way of their own for local variables.

#include <cuda/atomic>

struct Counters {
  int enabled;
  cuda::atomic<unsigned long long, cuda::thread_scope_device> hits;
};

struct Table {
  unsigned *slots;
};

#ifndef EXPERIMENT
#define LEADS_TO_GLOBAL(pointer)
#else
#define LEADS_TO_GLOBAL(pointer) __builtin_assume(__isGlobal(pointer))
#endif

__device__ Counters *counters;

/* labels
[[find]]
cause = "address-taken"
primary = ["count"]
*/
// A pointer out of memory may lead anywhere.
extern "C" __global__ void counts_hits(const int *x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  Counters *all = counters;
  LEADS_TO_GLOBAL(all);
  if (i < n && x[i] > 0 && all->enabled) {
    all->hits.fetch_add(1, cuda::memory_order_relaxed);  //@count
  }
}

/* labels
[[find]]
cause = "address-taken"
primary = ["load", "write"]
*/
// Without a read-modify-write: bytes are copied one by one.
extern "C" __global__ void hands_over(const Table *table, unsigned *y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned *slots = table->slots;
  LEADS_TO_GLOBAL(slots);
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> slot(slots[i]);
  y[i] = slot.load(cuda::memory_order_acquire);  //@load
  slot.store(2u, cuda::memory_order_release);    //@write
}

/* labels
[[find]]
cause = "address-taken"
primary = ["exchange"]

[[find]]
cause = "address-taken"
object = "expected"
type = "unsigned int"
size = 4
declared = "expected"
primary = ["exchange", "read"]
*/
// What is expected is compared byte by byte there: it has an address for that way alone.
extern "C" __global__ void takes_slot(const Table *table, unsigned *y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned *slots = table->slots;
  LEADS_TO_GLOBAL(slots);
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> slot(slots[i]);
  unsigned expected = 0;  //@expected
  slot.compare_exchange_strong(expected, 5u);  //@exchange
  y[i] = expected;  //@read
}

/* labels
clean = true
*/
// Of what a kernel gets itself it is known.
extern "C" __global__ void counts_in_parameter(Counters *all, const int *x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0) all->hits.fetch_add(1, cuda::memory_order_relaxed);
}
