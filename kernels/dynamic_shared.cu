#include "dev.h"

extern __shared__ u32 staged[];

// Reverses the elements of each block: one element per thread, 4 bytes of dynamic shared memory per thread.
extern "C" __global__ void reverse_block(u32* data) {
    u32 t = thread_x();
    u32 size = block_size_x();
    data += (u64)block_x() * size;
    staged[t] = data[t];
    barrier();
    data[t] = staged[size - 1 - t];
}
