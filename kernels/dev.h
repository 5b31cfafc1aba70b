// What the kernels need of a device compiler, in one vocabulary for three of them: clang for CUDA, clang for HIP (both
// without any vendor's headers), and NVRTC. Kernels use these names and no other built-ins.
#pragma once

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#if defined(__CUDACC_RTC__)

#define DEVICE __device__ __forceinline__

DEVICE u32 thread_x() { return threadIdx.x; }
DEVICE u32 thread_y() { return threadIdx.y; }
DEVICE u32 thread_z() { return threadIdx.z; }
DEVICE u32 block_x() { return blockIdx.x; }
DEVICE u32 block_y() { return blockIdx.y; }
DEVICE u32 block_z() { return blockIdx.z; }
DEVICE u32 block_size_x() { return blockDim.x; }
DEVICE u32 block_size_y() { return blockDim.y; }
DEVICE u32 block_size_z() { return blockDim.z; }
DEVICE u32 grid_size_x() { return gridDim.x; }
DEVICE u32 grid_size_y() { return gridDim.y; }
DEVICE u32 grid_size_z() { return gridDim.z; }
DEVICE void barrier() { __syncthreads(); }
DEVICE void fence() { __threadfence(); }
DEVICE u32 atomic_fetch_add(u32* p, u32 v) { return atomicAdd(p, v); }
DEVICE u32 atomic_fetch_max(u32* p, u32 v) { return atomicMax(p, v); }
DEVICE u32 atomic_swap(u32* p, u32 v) { return atomicExch(p, v); }
DEVICE u32 atomic_cas(u32* p, u32 expected, u32 desired) { return atomicCAS(p, expected, desired); }
DEVICE float shuffle_xor(float v, u32 mask) { return __shfl_xor_sync(0xffffffffu, v, mask); }
DEVICE void trap() { __trap(); }
DEVICE u32 float_bits(float v) { return __float_as_uint(v); }
DEVICE float exp2_approx(float v) {
    float r;
    asm("ex2.approx.f32 %0, %1;" : "=f"(r) : "f"(v));
    return r;
}

#else

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define DEVICE __device__ static inline __attribute__((always_inline))

DEVICE u32 float_bits(float v) { return __builtin_bit_cast(u32, v); }
DEVICE void trap() { __builtin_trap(); }

#if defined(__AMDGCN__)

DEVICE u32 thread_x() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE u32 thread_y() { return __builtin_amdgcn_workitem_id_y(); }
DEVICE u32 thread_z() { return __builtin_amdgcn_workitem_id_z(); }
DEVICE u32 block_x() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE u32 block_y() { return __builtin_amdgcn_workgroup_id_y(); }
DEVICE u32 block_z() { return __builtin_amdgcn_workgroup_id_z(); }
DEVICE u32 block_size_x() { return __builtin_amdgcn_workgroup_size_x(); }
DEVICE u32 block_size_y() { return __builtin_amdgcn_workgroup_size_y(); }
DEVICE u32 block_size_z() { return __builtin_amdgcn_workgroup_size_z(); }
// The hardware counts the grid in threads.
DEVICE u32 grid_size_x() { return __builtin_amdgcn_grid_size_x() / block_size_x(); }
DEVICE u32 grid_size_y() { return __builtin_amdgcn_grid_size_y() / block_size_y(); }
DEVICE u32 grid_size_z() { return __builtin_amdgcn_grid_size_z() / block_size_z(); }
DEVICE void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
DEVICE void fence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
DEVICE u32 atomic_fetch_add(u32* p, u32 v) {
    return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
DEVICE u32 atomic_fetch_max(u32* p, u32 v) {
    return __hip_atomic_fetch_max(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
DEVICE u32 atomic_swap(u32* p, u32 v) {
    return __hip_atomic_exchange(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
DEVICE u32 atomic_cas(u32* p, u32 expected, u32 desired) {
    __hip_atomic_compare_exchange_strong(p, &expected, desired, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                         __HIP_MEMORY_SCOPE_AGENT);
    return expected;
}
// Lanes are permuted through LDS hardware, addressed in bytes; works for waves of 32 and of 64.
DEVICE float shuffle_xor(float v, u32 mask) {
    u32 lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
    int bits = __builtin_amdgcn_ds_bpermute((int)((lane ^ mask) << 2), (int)float_bits(v));
    return __builtin_bit_cast(float, bits);
}
DEVICE float exp2_approx(float v) { return __builtin_amdgcn_exp2f(v); }

#else

DEVICE u32 thread_x() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE u32 thread_y() { return __nvvm_read_ptx_sreg_tid_y(); }
DEVICE u32 thread_z() { return __nvvm_read_ptx_sreg_tid_z(); }
DEVICE u32 block_x() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE u32 block_y() { return __nvvm_read_ptx_sreg_ctaid_y(); }
DEVICE u32 block_z() { return __nvvm_read_ptx_sreg_ctaid_z(); }
DEVICE u32 block_size_x() { return __nvvm_read_ptx_sreg_ntid_x(); }
DEVICE u32 block_size_y() { return __nvvm_read_ptx_sreg_ntid_y(); }
DEVICE u32 block_size_z() { return __nvvm_read_ptx_sreg_ntid_z(); }
DEVICE u32 grid_size_x() { return __nvvm_read_ptx_sreg_nctaid_x(); }
DEVICE u32 grid_size_y() { return __nvvm_read_ptx_sreg_nctaid_y(); }
DEVICE u32 grid_size_z() { return __nvvm_read_ptx_sreg_nctaid_z(); }
DEVICE void barrier() { __syncthreads(); }
DEVICE void fence() { __nvvm_membar_gl(); }
DEVICE u32 atomic_fetch_add(u32* p, u32 v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }
DEVICE u32 atomic_fetch_max(u32* p, u32 v) { return __nvvm_atom_max_gen_ui(p, v); }
DEVICE u32 atomic_swap(u32* p, u32 v) { return (u32)__nvvm_atom_xchg_gen_i((int*)p, (int)v); }
DEVICE u32 atomic_cas(u32* p, u32 expected, u32 desired) {
    return (u32)__nvvm_atom_cas_gen_i((int*)p, (int)expected, (int)desired);
}
// A macro, because its body needs PTX 6.0 and only the kernels that use it are compiled for that.
#define shuffle_xor(v, mask) __nvvm_shfl_sync_bfly_f32(0xffffffffu, (v), (int)(mask), 31)
DEVICE float exp2_approx(float v) { return __nvvm_ex2_approx_f(v); }

#endif
#endif

// The position of this thread in a one-dimensional grid, and the number of threads in it.
DEVICE u32 global_x() { return block_x() * block_size_x() + thread_x(); }
DEVICE u32 global_size_x() { return grid_size_x() * block_size_x(); }
