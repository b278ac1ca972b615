// Functions that are only reached through pointers: a table, and the overriders of a class.
#include <new>

typedef float (*Unary)(float);

__device__ float twice(float x) { return x * 2; }

__device__ float looked_up(float x) {
    volatile float b[10];
    for (int i = 0; i < 10; i++) b[i] = x + i;
    return b[(int)x];
}

__device__ Unary table[] = {twice, looked_up};

struct Shape {
    __device__ virtual float area(float x) = 0;
};

struct Square : Shape {
    __device__ float area(float x) override { return x * x; }
};

struct Blob : Shape {
    __device__ float area(float x) override {
        volatile float b[20];
        for (int i = 0; i < 20; i++) b[i] = x + i;
        return b[(int)x];
    }
};

__device__ Shape *make(int kind, void *where) {
    if (kind) return new (where) Square;
    return new (where) Blob;
}
