// launch: block=256
// Ways to change an amount up to 32 with 5 coins.
extern "C" __global__ void coin_change(const int *amount, int *ways, int n) {
  const int coins[5] = {1, 2, 5, 10, 20};
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  int w[33] = {1}, a = amount[t] & 31;
  for (int k = 0; k < 5; ++k)
    for (int i = coins[k]; i <= a; ++i) w[i] += w[i - coins[k]];
  ways[t] = w[a];
}
