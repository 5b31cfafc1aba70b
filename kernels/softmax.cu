// PTX ISA: 60 (shfl.sync)
#include "dev.h"

// out[r][i] = exp(in[r][i]) / sum over i of exp(in[r][i]), for the row r of `cols` elements that is this block's. Blocks
// of exactly 32 threads, one block per row. exp is computed as the hardware's approximate exp2.
extern "C" __global__ void softmax(const float* in, float* out, u32 cols) {
    const float log2_e = 1.44269504f;
    u64 start = (u64)block_x() * cols;
    in += start;
    out += start;
    float largest = -3.402823466e38f;
    for (u32 i = thread_x(); i < cols; i += 32) largest = in[i] > largest ? in[i] : largest;
    for (u32 mask = 16; mask > 0; mask /= 2) {
        float other = shuffle_xor(largest, mask);
        largest = other > largest ? other : largest;
    }
    float sum = 0.0f;
    for (u32 i = thread_x(); i < cols; i += 32) sum += exp2_approx((in[i] - largest) * log2_e);
    for (u32 mask = 16; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
    for (u32 i = thread_x(); i < cols; i += 32) out[i] = exp2_approx((in[i] - largest) * log2_e) / sum;
}
