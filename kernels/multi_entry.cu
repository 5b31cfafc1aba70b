#include "dev.h"

// Three entry points in one module. Each changes x[i] in place for i < n, one thread per element.

extern "C" __global__ void negate(int* x, u32 n) {
    u32 i = global_x();
    if (i < n) x[i] = (int)(0u - (u32)x[i]);
}

extern "C" __global__ void double_it(int* x, u32 n) {
    u32 i = global_x();
    if (i < n) x[i] = (int)((u32)x[i] * 2u);
}

extern "C" __global__ void abs_i32(int* x, u32 n) {
    u32 i = global_x();
    if (i < n && x[i] < 0) x[i] = (int)(0u - (u32)x[i]);
}
