#include "dev.h"

// out[0] += the sum of i < n, modulo 2^32. One thread per i, as in the kernels below.
extern "C" __global__ void atomic_sum(u32* out, u32 n) {
    u32 i = global_x();
    if (i < n) atomic_fetch_add(out, i);
}

// out[0] = the largest of itself and every i < n.
extern "C" __global__ void atomic_max(u32* out, u32 n) {
    u32 i = global_x();
    if (i < n) atomic_fetch_max(out, i);
}

// count[0] += n, by plain loads and stores under a spin lock in lock[0], which must be zero before and is zero after.
// The lanes of a warp take turns: where they run in lock step, one lane spinning would keep the holder from releasing.
extern "C" __global__ void cas_lock_count(u32* lock, volatile u32* count, u32 n) {
    bool counts = global_x() < n;
    u32 lane = thread_x() % 64;
#pragma unroll 1
    for (u32 turn = 0; turn < 64; turn++) {
        if (counts && lane == turn) {
            while (atomic_cas(lock, 0, 1) != 0) {
            }
            fence();
            *count = *count + 1;
            fence();
            atomic_swap(lock, 0);
        }
    }
}
