#include "dev.h"

// x[i] *= factor for i < n. One thread per element.
extern "C" __global__ void scale(float* x, float factor, u32 n) {
    u32 i = global_x();
    if (i < n) x[i] *= factor;
}

// out[i] = in[i] * scale + offset for i < n, rounded twice. One thread per element.
extern "C" __global__ void scale_and_offset(const float* in, float* out, float scale, float offset, u32 n) {
    u32 i = global_x();
    if (i < n) out[i] = in[i] * scale + offset;
}
