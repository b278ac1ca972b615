// Addresses that are needed only while the compiler decides what can be in registers; compilers for
// sm_100 and newer decide later. -DEXPERIMENT takes them away: every frame is then 0.

#include <cuda_fp16.h>

struct Wide {
    double high, low;
    __device__ Wide() : high(0), low(0) {}
    __device__ Wide &operator=(const Wide &other)
    {
#ifdef EXPERIMENT
        high = other.high;
        low = other.low;
#else
        if (this != &other) {  //@itself
            high = other.high;  //@high
            low = other.low;  //@low
        }
#endif
        return *this;
    }
};

/* labels
[[find]]
cause = "address-taken"
archs = ["sm_75", "sm_80", "sm_90"]
object = "upper"
type = "Wide[2]"
size = 32
declared = "wide"
primary = ["itself"]

[[find]]
cause = "address-taken"
archs = ["sm_75", "sm_80", "sm_90"]
object = "lower"
type = "Wide[2]"
size = 32
declared = "wide"
primary = ["itself"]

[[find]]
cause = "address-taken"
archs = ["sm_75", "sm_80", "sm_90"]
object = "w"
type = "Wide"
size = 16
declared = "wide"
primary = ["itself"]
*/
__global__ void compared_butterfly(const double *in, double *out, int rounds)
{
    __shared__ double high[256], low[256];
    Wide upper[2], lower[2], w;  //@wide
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        upper[i].high = in[threadIdx.x + i * 64];
        upper[i].low = in[threadIdx.x + i * 64 + 128];
        lower[i].high = in[threadIdx.x + i * 64 + 256];
        lower[i].low = in[threadIdx.x + i * 64 + 384];
    }
    for (int round = rounds; round >= 1; --round) {
        int mask = 1 << (round - 1), at = threadIdx.x;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            bool stays = (at & ((1 << round) - 1)) < mask;
            high[at] = stays ? lower[i].high : upper[i].high;
            low[at] = stays ? lower[i].low : upper[i].low;
            at += 64;
        }
        __syncthreads();
        at = threadIdx.x;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            bool stays = (at & ((1 << round) - 1)) < mask;
            w.high = high[at ^ mask];
            w.low = low[at ^ mask];
            if (stays) lower[i] = w; else upper[i] = w;
            double sum = upper[i].high + lower[i].high;
            lower[i].high = upper[i].high - lower[i].high;
            upper[i].high = sum;
            at += 64;
        }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        out[threadIdx.x + i * 64] = upper[i].high + upper[i].low;
        out[threadIdx.x + i * 64 + 128] = lower[i].high + lower[i].low;
    }
}

/* labels
[[find]]
cause = "address-taken"
archs = ["sm_75", "sm_80", "sm_90"]
object = "row"
type = "float4"
size = 16
declared = "row"
primary = ["set"]
*/
__global__ void pointer_set_later(const float4 *rows, const float4 *rest, float4 *out, int n)
{
    __shared__ float total;
    float4 row;  //@row
#ifdef EXPERIMENT
    __half2 *halves = reinterpret_cast<__half2 *>(&row);
#else
    __half2 *halves;
#endif
    float2 part[4];
    float sum = 0;
    if (threadIdx.x < n) {
        row = rows[threadIdx.x];
#ifndef EXPERIMENT
        halves = reinterpret_cast<__half2 *>(&row);  //@set
#endif
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            part[i] = __half22float2(halves[i]);
            sum += part[i].x + part[i].y;
        }
    }
    atomicAdd(&total, sum);
    __syncthreads();
    if (threadIdx.x >= n) return;
    if (rest) {
        float4 other = rest[threadIdx.x];
        __half *more = reinterpret_cast<__half *>(&other);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            halves[i].x = __float2half(part[i].x - total + __half2float(more[2 * i]));
            halves[i].y = __float2half(part[i].y - total + __half2float(more[2 * i + 1]));
        }
    } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            halves[i].x = __float2half(part[i].x - total);
            halves[i].y = __float2half(part[i].y - total);
        }
    }
    out[threadIdx.x] = row;
}
