#define SHFL_XOR(v, s) __shfl_xor_sync(~0u, v, s)
#define SHFL_DOWN(v, s) __shfl_down_sync(~0u, v, s)
#define SHFL_IDX(v, s) __shfl_sync(~0u, v, s)
#define EXP(x) __expf(x)
#define TRAP __trap()
#define MULHI __mulhi
#define UMULHI __umulhi
#define POPC __popc
#define CLZ __clz
#define BREV __brev
#define SQRT sqrt
#define FABS fabs
#define FMA fma
#define SQRTF sqrtf
#define FABSF fabsf
#define FMAF fmaf
#define FLOORF floorf
