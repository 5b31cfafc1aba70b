#include "dev.h"

// bins256[v] += the number of i < n with in[i] == v; the caller clears the 256 bins. Any one-dimensional grid: each
// block counts in shared memory, then adds its counts to the bins.
extern "C" __global__ void histogram(const u8* in, u32* bins256, u32 n) {
    __shared__ u32 local[256];
    for (u32 i = thread_x(); i < 256; i += block_size_x()) local[i] = 0;
    barrier();
    for (u32 i = global_x(); i < n; i += global_size_x()) atomic_fetch_add(&local[in[i]], 1);
    barrier();
    for (u32 i = thread_x(); i < 256; i += block_size_x()) {
        if (local[i] != 0) atomic_fetch_add(&bins256[i], local[i]);
    }
}
