#include "dev.h"

// Shows how the arguments arrived. Launch one thread. out[0..6] = a, b, the low and high half of c, the bits of d, e.
extern "C" __global__ void store_constants(u32* out, u32 a, u32 b, u64 c, float d, u8 e) {
    out[0] = a;
    out[1] = b;
    out[2] = (u32)c;
    out[3] = (u32)(c >> 32);
    out[4] = float_bits(d);
    out[5] = e;
}

// 40 bytes, aligned to 8: offsets 0, 4, 8, 16, 20, 32.
struct Packed {
    u32 a;
    u8 b;
    u64 c;
    float d;
    u32 e[3];
    u8 f;
};

// The same for a structure passed by value. out[0..9] = a, b, the low and high half of c, the bits of d, e[0..3], f.
extern "C" __global__ void store_struct(u32* out, Packed s) {
    out[0] = s.a;
    out[1] = s.b;
    out[2] = (u32)s.c;
    out[3] = (u32)(s.c >> 32);
    out[4] = float_bits(s.d);
    out[5] = s.e[0];
    out[6] = s.e[1];
    out[7] = s.e[2];
    out[8] = s.f;
}
