#include "dev.h"

DEVICE u32 linear_block() { return (block_z() * grid_size_y() + block_y()) * grid_size_x() + block_x(); }

DEVICE u32 linear_thread() { return (thread_z() * block_size_y() + thread_y()) * block_size_x() + thread_x(); }

// out[b] = b for every block, where b counts x first, then y, then z. Written by the first thread of the block.
extern "C" __global__ void write_workgroup_ids(u32* out) {
    if (linear_thread() == 0) out[linear_block()] = linear_block();
}

// out[b * threads + t] = t for every thread: t counts x first, then y, then z, within a block of `threads` threads.
extern "C" __global__ void write_thread_ids(u32* out) {
    u32 threads = block_size_x() * block_size_y() * block_size_z();
    out[linear_block() * threads + linear_thread()] = linear_thread();
}

// out[6 b ..] = the block's x, y, z and the grid's size in x, y, z, for every block b.
extern "C" __global__ void write_grid_3d(u32* out) {
    if (linear_thread() != 0) return;
    out += 6 * linear_block();
    out[0] = block_x();
    out[1] = block_y();
    out[2] = block_z();
    out[3] = grid_size_x();
    out[4] = grid_size_y();
    out[5] = grid_size_z();
}
