#include <cuda_fp16.h>
extern "C" __global__ void h(__half *a, __half2 *b, float *f, int n) {
    int i = threadIdx.x;
    a[i] = __hadd(a[i], __float2half(1.5f));
    b[i] = __hfma2(b[i], b[i], __float2half2_rn(2.f));
    f[i] = __half2float(a[i]) + __low2float(b[i]);
    if (__hgt(a[i], __float2half(0.f))) f[i] += 1;
    a[i] = hexp(a[i]); a[i] = __hmax(a[i], __hmul(a[i], a[i])); a[i] = hrcp(a[i]); a[i]= __int2half_rn(n);
}
extern "C" __device__ void __assertfail(const char*,const char*,unsigned,const char*,size_t);
#define assert(x) do { if (!(x)) __assertfail(#x,"f",1,"g",1); } while(0)
extern "C" __device__ int printf(const char*, ...);
extern "C" __global__ void math(float *x, double *y) {
    int i = threadIdx.x;
    float v = x[i];
    x[i] = sinf(v) + cosf(v) * expf(v) + logf(fabsf(v)) + powf(fabsf(v), 1.3f) + tanhf(v) + rsqrtf(fabsf(v)) + cbrtf(v) + fmodf(v, 0.7f) + roundf(v) + atan2f(v, 2.f) + log1pf(fabsf(v)) + exp2f(v) + hypotf(v,1.f);
    double w = y[i];
    y[i] = sin(w) + exp(w) + log(fabs(w)) + pow(fabs(w), 1.3) + fmod(w, 0.7) + rint(w) + tanh(w)+ cbrt(w) + atan(w);
}
extern "C" __global__ void votes(int *out, unsigned *m) {
    int i = threadIdx.x;
    out[i] = __syncthreads_count(i % 3 == 0) * 1000 + __syncthreads_or(i == 7) * 100 + __syncthreads_and(i < 60) * 10;
    m[i] = __ballot_sync(~0u, i & 1) ^ __match_any_sync(~0u, i / 4) ^ __activemask();
    m[i] += __any_sync(~0u, i == 3) + __all_sync(~0u, i < 100) + __shfl_up_sync(~0u, i, 2) + __popcll(m[i]) + __ffs(i) + __byte_perm(i, m[i], 0x4210) + __funnelshift_l(i, i, 3) + __clzll(i);
    __nanosleep(10); __syncwarp();
    if (i == 2) printf("%d\n", i);
    long long t = clock64(); if (t < 0) out[i] = 0;
    atomicMax((int*)m + i, 3); atomicMin(m + i, 3000000000u); atomicInc(m + i, 5); atomicOr((unsigned long long*)m, 1ull); atomicAdd((double*)out, 0.0); atomicExch((float*)out, 1.f);
}
extern "C" __global__ void asserts(int *x) { assert(x[threadIdx.x] < 5); x[threadIdx.x]++; }
__device__ unsigned __int128 mul(unsigned long long a, unsigned long long b) { return (unsigned __int128)a * b; }
extern "C" __global__ void wide(unsigned long long *x) { unsigned __int128 p = mul(x[0], x[1]) + x[2]; x[3] = p; x[4] = p >> 64; p = p * p; x[5] = p >> 64; x[6]= p / (x[1]+1);}
