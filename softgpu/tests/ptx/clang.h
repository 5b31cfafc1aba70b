
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __noinline__ __attribute__((noinline))
#define I static __device__ inline
struct U3 { unsigned x, y, z; };
#define threadIdx (U3{(unsigned)__nvvm_read_ptx_sreg_tid_x(), (unsigned)__nvvm_read_ptx_sreg_tid_y(), 0})
#define blockIdx (U3{(unsigned)__nvvm_read_ptx_sreg_ctaid_x(), (unsigned)__nvvm_read_ptx_sreg_ctaid_y(), 0})
#define blockDim (U3{(unsigned)__nvvm_read_ptx_sreg_ntid_x(), (unsigned)__nvvm_read_ptx_sreg_ntid_y(), 0})
#define gridDim (U3{(unsigned)__nvvm_read_ptx_sreg_nctaid_x(), (unsigned)__nvvm_read_ptx_sreg_nctaid_y(), 0})
struct alignas(8) float2 { float x, y; };
I float2 make_float2(float x, float y) { return {x, y}; }
#define __threadfence() __nvvm_membar_gl()
I float atomicAdd(float *p, float v) { return __nvvm_atom_add_gen_f(p, v); }
I unsigned atomicAdd(unsigned *p, unsigned v) { return __nvvm_atom_add_gen_i((int *)p, v); }
I unsigned long long atomicAdd(unsigned long long *p, unsigned long long v) { return __nvvm_atom_add_gen_ll((long long *)p, v); }
I int atomicCAS(int *p, int a, int b) { return __nvvm_atom_cas_gen_i(p, a, b); }
I int atomicExch(int *p, int v) { return __nvvm_atom_xchg_gen_i(p, v); }
#ifdef SYNC
#define SHFL_XOR(v, s) __nvvm_shfl_sync_bfly_f32(~0u, v, s, 31)
#define SHFL_DOWN(v, s) __nvvm_shfl_sync_down_f32(~0u, v, s, 31)
#define SHFL_IDX(v, s) __nvvm_shfl_sync_idx_f32(~0u, v, s, 31)
#else
#define SHFL_XOR(v, s) __nvvm_shfl_bfly_f32(v, s, 31)
#define SHFL_DOWN(v, s) __nvvm_shfl_down_f32(v, s, 31)
#define SHFL_IDX(v, s) __nvvm_shfl_idx_f32(v, s, 31)
#endif
#define EXP(x) __nvvm_ex2_approx_f((x) * 1.44269504f)
#define fmaxf __nvvm_fmax_f
#define fminf __nvvm_fmin_f
#define TRAP __builtin_trap()
#define MULHI __nvvm_mulhi_i
#define UMULHI __nvvm_mulhi_ui
#define POPC __builtin_popcount
I int clz_(unsigned x) { return x ? __builtin_clz(x) : 32; }
#define CLZ clz_
#define BREV __builtin_bitreverse32
#define SQRT __nvvm_sqrt_rn_d
#define FABS __builtin_fabs
#define FMA __builtin_fma
#define SQRTF __nvvm_sqrt_rn_f
#define FABSF __builtin_fabsf
#define FMAF __builtin_fmaf
#define FLOORF __builtin_floorf
I int min(int a, int b) { return a < b ? a : b; }
I unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
