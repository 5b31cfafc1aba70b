extern "C" __global__ void vadd(const float *a, const float *b, float *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
extern "C" __global__ void scale(float *x, float factor, unsigned n) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] *= factor;
}
extern "C" __global__ void reduce(const float *in, float *out, unsigned n) {
    __shared__ float part[256];
    unsigned t = threadIdx.x;
    float sum = 0;
    for (unsigned i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) sum += in[i];
    part[t] = sum;
    __syncthreads();
    for (unsigned s = 128; s > 0; s >>= 1) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) atomicAdd(out, part[0]);
}
extern "C" __global__ void histogram(const unsigned char *in, unsigned *out, unsigned n) {
    __shared__ unsigned bins[256];
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) bins[i] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[in[i]], 1u);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x)
        if (bins[i]) atomicAdd(&out[i], bins[i]);
}
extern "C" __global__ void matmul(const float *a, const float *b, float *c, unsigned n) {
    __shared__ float ta[16][16], tb[16][16];
    unsigned x = threadIdx.x, y = threadIdx.y, col = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0;
    for (unsigned k = 0; k < n; k += 16) {
        ta[y][x] = row < n && k + x < n ? a[row * n + k + x] : 0.f;
        tb[y][x] = col < n && k + y < n ? b[(k + y) * n + col] : 0.f;
        __syncthreads();
        for (unsigned j = 0; j < 16; ++j) sum += ta[y][j] * tb[j][x];
        __syncthreads();
    }
    if (row < n && col < n) c[row * n + col] = sum;
}
extern "C" __global__ void softmax(const float *in, float *out, unsigned width) {
    const float *row = in + blockIdx.x * width;
    float *dst = out + blockIdx.x * width;
    float top = -3.0e38f;
    for (unsigned i = threadIdx.x; i < width; i += 32) top = fmaxf(top, row[i]);
    for (int s = 16; s > 0; s >>= 1) top = fmaxf(top, SHFL_XOR(top, s));
    float sum = 0;
    for (unsigned i = threadIdx.x; i < width; i += 32) sum += EXP(row[i] - top);
    for (int s = 16; s > 0; s >>= 1) sum += SHFL_DOWN(sum, s);
    sum = SHFL_IDX(sum, 0);
    for (unsigned i = threadIdx.x; i < width; i += 32) dst[i] = EXP(row[i] - top) / sum;
}
struct Affine { float m[2][2]; float shift[2]; unsigned count; };
extern "C" __global__ void affine(Affine f, float2 *points) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= f.count) return;
    float2 p = points[i];
    points[i] = make_float2(f.m[0][0] * p.x + f.m[0][1] * p.y + f.shift[0],
                            f.m[1][0] * p.x + f.m[1][1] * p.y + f.shift[1]);
}
__constant__ int table[8] = {1, 2, 4, 8, 16, 32, 64, 128};
__device__ unsigned long long total = 7;
extern "C" __global__ void globals(unsigned long long *out) {
    unsigned i = threadIdx.x;
    atomicAdd(&total, (unsigned long long)table[i & 7]);
    __syncthreads();
    if (i == 0) *out = total;
}
extern "C" __global__ void locked(int *lock, int *counter) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            *(volatile int *)counter = *(volatile int *)counter + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}
extern "C" __global__ void locked_naive(int *lock, int *counter) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    *(volatile int *)counter = *(volatile int *)counter + 1;
    __threadfence();
    atomicExch(lock, 0);
}
extern "C" __global__ void spin(volatile int *flag) { while (*flag == 0) {} }
extern "C" __global__ void die(int *x) { if (threadIdx.x == 5) TRAP; x[threadIdx.x] = 1; }
extern "C" __global__ void misaligned(char *x) { *(int *)(x + 4 * threadIdx.x + (threadIdx.x == 3)) = 1; }
__device__ __noinline__ float poly(float x, int n) {
    float r = 1;
    for (int i = 0; i < n; ++i) r = r * x + i;
    return r;
}
__device__ __noinline__ float2 twice(Affine f, float a) { return make_float2(poly(a * f.m[0][0], 3), poly(a, 2)); }
extern "C" __global__ void calls(float *x) {
    Affine f = {{{2, 0}, {0, 2}}, {0, 0}, 1};
    float2 r = twice(f, x[threadIdx.x]);
    if (threadIdx.x & 1) r.x = poly(r.x, 1);
    x[threadIdx.x] = r.x + r.y;
}
extern "C" __global__ void locals(int *out, int k) {
    int stack[16];
    for (int i = 0; i < 16; ++i) stack[i] = i * (int)threadIdx.x;
    int s = 0;
    for (int i = 0; i < 16; ++i) { stack[(i * k) & 15] += i; s ^= stack[(i + k) & 15]; }
    out[threadIdx.x] = s;
}
extern "C" __global__ void dynamic(int *out, int n) {
    extern __shared__ int buf[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) buf[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) { int s = 0; for (int i = 0; i < n; ++i) s += buf[i]; *out = s; }
}
extern "C" __global__ void switched(int *x) {
    int i = threadIdx.x, r;
    switch (x[i]) {
        case 0: r = 5; break; case 1: r = i * 3; break; case 2: r = i - 7; break; case 3: r = i ^ 21; break;
        case 4: r = x[(i + 1) & 31] * 2; break; case 5: r = -i; break; case 6: r = i << 3; break; default: r = 99;
    }
    x[i] = r;
}
extern "C" __global__ void ints(const long long *a, const long long *b, long long *out) {
    int i = threadIdx.x;
    long long x = a[i], y = b[i];
    int p = (int)x, q = (int)y;
    unsigned up = (unsigned)x, uq = (unsigned)y;
    long long *o = out + i * 24;
    o[0] = x / y; o[1] = x % y; o[2] = (long long)((unsigned long long)x / (unsigned long long)y);
    o[3] = p / (q | 1); o[4] = p % (q | 1); o[5] = up / (uq | 1); o[6] = up % (uq | 1);
    o[7] = MULHI(p, q); o[8] = UMULHI(up, uq); o[9] = (long long)p * q;
    o[10] = POPC(up); o[11] = CLZ(p); o[12] = BREV(up); o[13] = x << (q & 63); o[14] = x >> (q & 63);
    o[15] = (long long)((unsigned long long)x >> (q & 63)); o[16] = (short)p * (short)q; o[17] = (signed char)x;
    o[18] = min(p, q); o[19] = max(up, uq); o[20] = p < 0 ? -p : p; o[21] = x < y; o[22] = up < uq ? 3 : 4;
    o[23] = (unsigned char)x + (unsigned short)y;
}
extern "C" __global__ void floats(const double *a, const double *b, double *out) {
    int i = threadIdx.x;
    double x = a[i], y = b[i];
    float p = (float)x, q = (float)y;
    double *o = out + i * 20;
    o[0] = x + y; o[1] = x * y; o[2] = x / y; o[3] = SQRT(FABS(x)); o[4] = FMA(x, y, x);
    o[5] = p + q; o[6] = p / q; o[7] = SQRTF(FABSF(p)); o[8] = FMAF(p, q, p); o[9] = (int)p; o[10] = (long long)x;
    o[11] = (unsigned)FABSF(q); o[12] = FLOORF(p); o[13] = (double)(float)(int)x; o[14] = (float)(long long)(x * 1e6);
    o[15] = fminf(p, q); o[16] = fmaxf(p, q); o[17] = p < q; o[18] = -x; o[19] = (unsigned char)FABSF(p);
}
