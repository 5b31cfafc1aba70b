//! Which functions are used, and of which ABI. HIP looks them up by exported name, so the version is that of the oldest
//! runtime that can be used, for every row.

use super::bindings::*;

hal_utils::symbol_table! {
    /// The HIP runtime functions in use.
    pub struct Symbols;

    // Start, errors.
    hipInit @ 60000000 = hipInit: hipInit_t, required;
    hipRuntimeGetVersion @ 60000000 = hipRuntimeGetVersion: hipRuntimeGetVersion_t, required;
    hipGetErrorName @ 60000000 = hipGetErrorName: hipGetErrorName_t, required;

    // Devices.
    hipDeviceGet @ 60000000 = hipDeviceGet: hipDeviceGet_t, required;
    hipGetDeviceCount @ 60000000 = hipGetDeviceCount: hipGetDeviceCount_t, required;
    hipGetDeviceProperties @ 60000000 = hipGetDevicePropertiesR0600: hipGetDevicePropertiesR0600_t, required;
    hipDeviceGetUuid @ 60000000 = hipDeviceGetUuid: hipDeviceGetUuid_t, required;
    hipDeviceGetAttribute @ 60000000 = hipDeviceGetAttribute: hipDeviceGetAttribute_t, required;

    // Contexts.
    hipDevicePrimaryCtxRetain @ 60000000 = hipDevicePrimaryCtxRetain: hipDevicePrimaryCtxRetain_t, required;
    hipDevicePrimaryCtxRelease @ 60000000 = hipDevicePrimaryCtxRelease: hipDevicePrimaryCtxRelease_t, required;
    hipGetDevice @ 60000000 = hipGetDevice: hipGetDevice_t, required;
    hipSetDevice @ 60000000 = hipSetDevice: hipSetDevice_t, required;
    hipDeviceGetStreamPriorityRange @ 60000000 = hipDeviceGetStreamPriorityRange: hipDeviceGetStreamPriorityRange_t, required;

    // Streams and events.
    hipStreamCreateWithPriority @ 60000000 = hipStreamCreateWithPriority: hipStreamCreateWithPriority_t, required;
    hipStreamDestroy @ 60000000 = hipStreamDestroy: hipStreamDestroy_t, required;
    hipStreamQuery @ 60000000 = hipStreamQuery: hipStreamQuery_t, required;
    hipStreamWaitEvent @ 60000000 = hipStreamWaitEvent: hipStreamWaitEvent_t, required;
    hipEventCreateWithFlags @ 60000000 = hipEventCreateWithFlags: hipEventCreateWithFlags_t, required;
    hipEventDestroy @ 60000000 = hipEventDestroy: hipEventDestroy_t, required;
    hipEventRecord @ 60000000 = hipEventRecord: hipEventRecord_t, required;
    hipEventQuery @ 60000000 = hipEventQuery: hipEventQuery_t, required;

    // Memory.
    hipMalloc @ 60000000 = hipMalloc: hipMalloc_t, required;
    hipFree @ 60000000 = hipFree: hipFree_t, required;
    hipHostMalloc @ 60000000 = hipHostMalloc: hipHostMalloc_t, required;
    hipHostGetDevicePointer @ 60000000 = hipHostGetDevicePointer: hipHostGetDevicePointer_t, required;
    hipHostFree @ 60000000 = hipHostFree: hipHostFree_t, required;
    hipMallocManaged @ 60000000 = hipMallocManaged: hipMallocManaged_t, required;
    hipMemsetD8Async @ 60000000 = hipMemsetD8Async: hipMemsetD8Async_t, required;
    hipMemsetD16Async @ 60000000 = hipMemsetD16Async: hipMemsetD16Async_t, required;
    hipMemsetD32Async @ 60000000 = hipMemsetD32Async: hipMemsetD32Async_t, required;
    hipMemcpyAsync @ 60000000 = hipMemcpyAsync: hipMemcpyAsync_t, required;

    // Code.
    hipModuleLoadData @ 60000000 = hipModuleLoadData: hipModuleLoadData_t, required;
    hipModuleLoadDataEx @ 60000000 = hipModuleLoadDataEx: hipModuleLoadDataEx_t, required;
    hipModuleUnload @ 60000000 = hipModuleUnload: hipModuleUnload_t, required;
    hipModuleGetFunction @ 60000000 = hipModuleGetFunction: hipModuleGetFunction_t, required;
    hipModuleGetGlobal @ 60000000 = hipModuleGetGlobal: hipModuleGetGlobal_t, required;
    hipFuncGetAttribute @ 60000000 = hipFuncGetAttribute: hipFuncGetAttribute_t, required;
    hipModuleLaunchKernel @ 60000000 = hipModuleLaunchKernel: hipModuleLaunchKernel_t, required;

    // Graphs.
    hipGraphCreate @ 60000000 = hipGraphCreate: hipGraphCreate_t, optional;
    hipGraphDestroy @ 60000000 = hipGraphDestroy: hipGraphDestroy_t, optional;
    hipGraphAddEmptyNode @ 60000000 = hipGraphAddEmptyNode: hipGraphAddEmptyNode_t, optional;
    hipGraphAddMemsetNode @ 60000000 = hipGraphAddMemsetNode: hipGraphAddMemsetNode_t, optional;
    hipGraphAddMemcpyNode1D @ 60000000 = hipGraphAddMemcpyNode1D: hipGraphAddMemcpyNode1D_t, optional;
    hipGraphAddKernelNode @ 60000000 = hipGraphAddKernelNode: hipGraphAddKernelNode_t, optional;
    hipGraphInstantiateWithFlags @ 60000000 = hipGraphInstantiateWithFlags: hipGraphInstantiateWithFlags_t, optional;
    hipGraphExecMemsetNodeSetParams @ 60000000 = hipGraphExecMemsetNodeSetParams: hipGraphExecMemsetNodeSetParams_t, optional;
    hipGraphExecMemcpyNodeSetParams1D @ 60000000 = hipGraphExecMemcpyNodeSetParams1D: hipGraphExecMemcpyNodeSetParams1D_t, optional;
    hipGraphExecKernelNodeSetParams @ 60000000 = hipGraphExecKernelNodeSetParams: hipGraphExecKernelNodeSetParams_t, optional;
    hipGraphLaunch @ 60000000 = hipGraphLaunch: hipGraphLaunch_t, optional;
    hipGraphExecDestroy @ 60000000 = hipGraphExecDestroy: hipGraphExecDestroy_t, optional;
}
