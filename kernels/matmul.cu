#include "dev.h"

enum { TILE = 16 };

// c = a b, row-major: a is m by k, b is k by n, c is m by n. Blocks of 16 by 16 threads, a grid of ceil(n / 16) by
// ceil(m / 16). Each element sums its k products in ascending order.
extern "C" __global__ void matmul(const float* a, const float* b, float* c, u32 m, u32 n, u32 k) {
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];
    u32 x = thread_x(), y = thread_y();
    u32 col = block_x() * TILE + x;
    u32 row = block_y() * TILE + y;
    float sum = 0.0f;
    for (u32 base = 0; base < k; base += TILE) {
        tile_a[y][x] = row < m && base + x < k ? a[(u64)row * k + base + x] : 0.0f;
        tile_b[y][x] = col < n && base + y < k ? b[(u64)(base + y) * n + col] : 0.0f;
        barrier();
        for (u32 i = 0; i < TILE; i++) sum += tile_a[y][i] * tile_b[i][x];
        barrier();
    }
    if (row < m && col < n) c[(u64)row * n + col] = sum;
}
