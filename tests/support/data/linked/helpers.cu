// Local memory that kernels of other files reach: a call of a call, and a recursion of two.
__device__ __noinline__ float window(const float *p, int n) {
    volatile float b[100];
    for (int i = 0; i < 100; i++) b[i] = p[i];
    return b[n];
}

__device__ float smooth(const float *p, int n) {
    volatile float a[32];
    for (int i = 0; i < 32; i++) a[i] = p[i];
    return a[n] + window(p, n);
}

__device__ int descend(int n);

// lmemscope: depth walk=12
__device__ __noinline__ int walk(int n) {
    volatile int x[8];
    x[n & 7] = n;
    return n < 2 ? 1 : descend(n - 1) + x[(n + 1) & 7];
}

__device__ __noinline__ int descend(int n) {
    volatile int x[4];
    x[n & 3] = n;
    return n < 2 ? 1 : walk(n - 1) + walk(n - 2) + x[(n + 1) & 3];
}
