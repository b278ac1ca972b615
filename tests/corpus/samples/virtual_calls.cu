// Objects with virtual functions made and used on the device.
#include <new>

struct Shape {
  __device__ virtual float area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Circle : Shape {
  float r;
  __device__ explicit Circle(float radius) : r(radius) {}
  __device__ float area() const override { return 3.14159f * r * r; }
};
struct Box : Shape {
  float w, h;
  __device__ Box(float width, float height) : w(width), h(height) {}
  __device__ float area() const override { return w * h; }
};

__global__ void build(Shape **shapes, int n) {
  for (int i = 0; i < n; ++i)
    shapes[i] = i % 2 ? static_cast<Shape *>(new Circle(i)) : new Box(i, i + 1);
}

__global__ void total(Shape **shapes, float *out, int n) {
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += shapes[i]->area();
  atomicAdd(out, sum);
}

int main() {
  build<<<1, 1>>>(nullptr, 0);
  total<<<1, 32>>>(nullptr, nullptr, 0);
}
