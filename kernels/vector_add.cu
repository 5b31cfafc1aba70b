#include "dev.h"

// c[i] = a[i] + b[i] for i < n. One thread per element.
extern "C" __global__ void vadd(const float* a, const float* b, float* c, u32 n) {
    u32 i = global_x();
    if (i < n) c[i] = a[i] + b[i];
}
