// Non-maximum suppression of 20 boxes with flags of those that are left.
extern "C" __global__ void nms_boxes(const float *box, int *kept, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float x0[20], x1[20]; bool gone[20];
  for (int i = 0; i < 20; ++i) { x0[i] = box[(2 * i) * n + t]; x1[i] = x0[i] + box[(2 * i + 1) * n + t] * .3f; gone[i] = false; }
  int left = 0;
  for (int i = 0; i < 20; ++i) {
    if (gone[i]) continue;
    ++left;
    for (int j = i + 1; j < 20; ++j) {
      float both = fminf(x1[i], x1[j]) - fmaxf(x0[i], x0[j]);
      if (both > .5f * (x1[i] - x0[i])) gone[j] = true;
    }
  }
  kept[t] = left;
}
