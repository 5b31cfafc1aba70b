/* A client of both ABIs in C: finds libcuda.so.1 and libamdhip64.so as any would, adds two vectors on each, and checks
 * the sums. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define COUNT 1000

static const char ptx[] =
    ".version 6.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry vadd(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n"
    "{\n"
    "    .reg .pred %p<2>;\n    .reg .f32 %f<4>;\n    .reg .b32 %r<6>;\n    .reg .b64 %rd<9>;\n"
    "    ld.param.u64 %rd1, [a];\n    ld.param.u64 %rd2, [b];\n    ld.param.u64 %rd3, [c];\n"
    "    ld.param.u32 %r1, [n];\n"
    "    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n    mov.u32 %r4, %tid.x;\n"
    "    mad.lo.s32 %r5, %r2, %r3, %r4;\n"
    "    setp.ge.u32 %p1, %r5, %r1;\n    @%p1 bra DONE;\n"
    "    mul.wide.u32 %rd4, %r5, 4;\n"
    "    add.s64 %rd5, %rd1, %rd4;\n    add.s64 %rd6, %rd2, %rd4;\n    add.s64 %rd7, %rd3, %rd4;\n"
    "    ld.global.f32 %f1, [%rd5];\n    ld.global.f32 %f2, [%rd6];\n"
    "    add.rn.f32 %f3, %f1, %f2;\n    st.global.f32 [%rd7], %f3;\n"
    "DONE:\n    ret;\n}\n";

static void *library;

static void *find(const char *name)
{
    void *address = dlsym(library, name);
    if (!address)
        fprintf(stderr, "%s is missing\n", name);
    return address;
}

#define CALL(name, types, ...)                                        \
    do {                                                              \
        int (*entry) types = (int (*) types)find(#name);              \
        int code = entry ? entry(__VA_ARGS__) : -1;                   \
        if (code != 0) {                                              \
            fprintf(stderr, "%s returned %d\n", #name, code);         \
            return 1;                                                 \
        }                                                             \
    } while (0)

static int run_cuda(void)
{
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }

    float a[COUNT], b[COUNT], c[COUNT];
    for (int i = 0; i < COUNT; i++) {
        a[i] = (float)i;
        b[i] = 0.5f;
    }
    uint64_t context, module, function, stream, da, db, dc;
    uint32_t count = COUNT;
    CALL(cuInit, (unsigned), 0);
    CALL(cuDevicePrimaryCtxRetain, (uint64_t *, int), &context, 0);
    CALL(cuCtxSetCurrent, (uint64_t), context);
    CALL(cuModuleLoadData, (uint64_t *, const void *), &module, ptx);
    CALL(cuModuleGetFunction, (uint64_t *, uint64_t, const char *), &function, module, "vadd");
    CALL(cuStreamCreate, (uint64_t *, unsigned), &stream, 1);
    CALL(cuMemAlloc_v2, (uint64_t *, size_t), &da, sizeof a);
    CALL(cuMemAlloc_v2, (uint64_t *, size_t), &db, sizeof b);
    CALL(cuMemAlloc_v2, (uint64_t *, size_t), &dc, sizeof c);
    CALL(cuMemcpyHtoDAsync_v2, (uint64_t, const void *, size_t, uint64_t), da, a, sizeof a, stream);
    CALL(cuMemcpyHtoDAsync_v2, (uint64_t, const void *, size_t, uint64_t), db, b, sizeof b, stream);
    void *params[] = {&da, &db, &dc, &count};
    CALL(cuLaunchKernel,
         (uint64_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, uint64_t, void **, void **),
         function, (COUNT + 127) / 128, 1, 1, 128, 1, 1, 0, stream, params, NULL);
    CALL(cuMemcpyDtoHAsync_v2, (void *, uint64_t, size_t, uint64_t), c, dc, sizeof c, stream);
    CALL(cuStreamSynchronize, (uint64_t), stream);
    for (int i = 0; i < COUNT; i++) {
        if (c[i] != a[i] + b[i]) {
            fprintf(stderr, "sum %d is %f\n", i, c[i]);
            return 1;
        }
    }
    CALL(cuMemFree_v2, (uint64_t), da);
    CALL(cuModuleUnload, (uint64_t), module);
    /* The rest is left to the end of the process, which must not hang. */
    return 0;
}

static int run_hip(void)
{
    library = dlopen("libamdhip64.so", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }

    float a[COUNT], b[COUNT], c[COUNT];
    for (int i = 0; i < COUNT; i++) {
        a[i] = (float)i;
        b[i] = 0.25f;
    }
    void *module, *function, *stream, *da, *db, *dc;
    uint32_t count = COUNT;
    CALL(hipInit, (unsigned), 0);
    CALL(hipSetDevice, (int), 0);
    CALL(hipModuleLoadData, (void **, const void *), &module, ptx);
    CALL(hipModuleGetFunction, (void **, void *, const char *), &function, module, "vadd");
    CALL(hipStreamCreateWithFlags, (void **, unsigned), &stream, 1);
    CALL(hipMalloc, (void **, size_t), &da, sizeof a);
    CALL(hipMalloc, (void **, size_t), &db, sizeof b);
    CALL(hipMalloc, (void **, size_t), &dc, sizeof c);
    CALL(hipMemcpyAsync, (void *, const void *, size_t, int, void *), da, a, sizeof a, 1, stream);
    CALL(hipMemcpyAsync, (void *, const void *, size_t, int, void *), db, b, sizeof b, 1, stream);
    void *params[] = {&da, &db, &dc, &count};
    CALL(hipModuleLaunchKernel,
         (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **),
         function, (COUNT + 127) / 128, 1, 1, 128, 1, 1, 0, stream, params, NULL);
    CALL(hipMemcpyAsync, (void *, const void *, size_t, int, void *), c, dc, sizeof c, 2, stream);
    CALL(hipStreamSynchronize, (void *), stream);
    for (int i = 0; i < COUNT; i++) {
        if (c[i] != a[i] + b[i]) {
            fprintf(stderr, "sum %d is %f\n", i, c[i]);
            return 1;
        }
    }
    CALL(hipFree, (void *), da);
    return 0;
}

int main(void)
{
    return run_cuda() || run_hip();
}
