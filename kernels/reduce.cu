#include "dev.h"

// out[b] = the sum of in[256 b .. 256 (b + 1)), elements from n on counting as zero. Blocks of exactly 256 threads, one
// partial sum per block. The order of additions is fixed: a tree whose halves are 128, 64, ... 1 apart.
extern "C" __global__ void reduce_sum(const float* in, float* out, u32 n) {
    __shared__ float partial[256];
    u32 t = thread_x();
    u32 i = global_x();
    partial[t] = i < n ? in[i] : 0.0f;
    barrier();
    for (u32 half = 128; half > 0; half /= 2) {
        if (t < half) partial[t] += partial[t + half];
        barrier();
    }
    if (t == 0) out[block_x()] = partial[0];
}
