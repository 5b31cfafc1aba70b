#include "dev.h"

// Kernels that go wrong, or that take as long as they are told. Launch one thread, except for `busy`.

// Writes p[offset_elements], wherever that is.
extern "C" __global__ void oob_write(u32* p, u64 offset_elements) { p[offset_elements] = 0xdeadbeefu; }

// Reads four bytes at p + 1 byte, and stores them at p.
extern "C" __global__ void misaligned_read(u32* p) { *p = *(volatile u32*)((u8*)p + 1); }

extern "C" __global__ void trap_now() { trap(); }

// Runs until *flag is not zero. The flag must be memory that others can write meanwhile.
extern "C" __global__ void spin_forever(volatile u32* flag) {
    while (*flag == 0) {
    }
}

// out[i] = the state of a 32-bit xorshift (13, 17, 5) started at i + 1, after `iterations` steps. One thread per element.
extern "C" __global__ void busy(u32* out, u32 iterations) {
    u32 i = global_x();
    u32 state = i + 1;
    for (u32 step = 0; step < iterations; step++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
    }
    out[i] = state;
}
