//! Which functions are used, and of which ABI.

use super::bindings::*;

hal_utils::symbol_table! {
    /// The CUDA driver functions in use.
    pub struct Symbols;

    // Start, errors.
    cuInit @ 2000 = cuInit: cuInit_t, required;
    cuDriverGetVersion @ 2020 = cuDriverGetVersion: cuDriverGetVersion_t, required;
    cuGetErrorName @ 6000 = cuGetErrorName: cuGetErrorName_t, required;

    // Devices.
    cuDeviceGet @ 2000 = cuDeviceGet: cuDeviceGet_t, required;
    cuDeviceGetCount @ 2000 = cuDeviceGetCount: cuDeviceGetCount_t, required;
    cuDeviceGetName @ 2000 = cuDeviceGetName: cuDeviceGetName_t, required;
    cuDeviceGetUuid @ 9020 = cuDeviceGetUuid: cuDeviceGetUuid_t, required;
    cuDeviceTotalMem @ 3020 = cuDeviceTotalMem_v2: cuDeviceTotalMem_v2_t, required;
    cuDeviceGetAttribute @ 2000 = cuDeviceGetAttribute: cuDeviceGetAttribute_t, required;

    // Contexts.
    cuDevicePrimaryCtxRetain @ 7000 = cuDevicePrimaryCtxRetain: cuDevicePrimaryCtxRetain_t, required;
    cuDevicePrimaryCtxRelease @ 11000 = cuDevicePrimaryCtxRelease_v2: cuDevicePrimaryCtxRelease_v2_t, required;
    cuCtxPushCurrent @ 4000 = cuCtxPushCurrent_v2: cuCtxPushCurrent_v2_t, required;
    cuCtxPopCurrent @ 4000 = cuCtxPopCurrent_v2: cuCtxPopCurrent_v2_t, required;
    cuCtxGetStreamPriorityRange @ 5050 = cuCtxGetStreamPriorityRange: cuCtxGetStreamPriorityRange_t, required;

    // Streams and events.
    cuStreamCreateWithPriority @ 5050 = cuStreamCreateWithPriority: cuStreamCreateWithPriority_t, required;
    cuStreamDestroy @ 4000 = cuStreamDestroy_v2: cuStreamDestroy_v2_t, required;
    cuStreamQuery @ 2000 = cuStreamQuery: cuStreamQuery_t, required;
    cuStreamWaitEvent @ 3020 = cuStreamWaitEvent: cuStreamWaitEvent_t, required;
    cuEventCreate @ 2000 = cuEventCreate: cuEventCreate_t, required;
    cuEventDestroy @ 4000 = cuEventDestroy_v2: cuEventDestroy_v2_t, required;
    cuEventRecord @ 2000 = cuEventRecord: cuEventRecord_t, required;
    cuEventQuery @ 2000 = cuEventQuery: cuEventQuery_t, required;

    // Memory.
    cuMemAlloc @ 3020 = cuMemAlloc_v2: cuMemAlloc_v2_t, required;
    cuMemFree @ 3020 = cuMemFree_v2: cuMemFree_v2_t, required;
    cuMemHostAlloc @ 2020 = cuMemHostAlloc: cuMemHostAlloc_t, required;
    cuMemHostGetDevicePointer @ 3020 = cuMemHostGetDevicePointer_v2: cuMemHostGetDevicePointer_v2_t, required;
    cuMemFreeHost @ 2000 = cuMemFreeHost: cuMemFreeHost_t, required;
    cuMemAllocManaged @ 6000 = cuMemAllocManaged: cuMemAllocManaged_t, required;
    cuMemsetD8Async @ 3020 = cuMemsetD8Async: cuMemsetD8Async_t, required;
    cuMemsetD16Async @ 3020 = cuMemsetD16Async: cuMemsetD16Async_t, required;
    cuMemsetD32Async @ 3020 = cuMemsetD32Async: cuMemsetD32Async_t, required;
    cuMemcpyAsync @ 4000 = cuMemcpyAsync: cuMemcpyAsync_t, required;

    // Code.
    cuModuleLoadDataEx @ 2010 = cuModuleLoadDataEx: cuModuleLoadDataEx_t, required;
    cuModuleUnload @ 2000 = cuModuleUnload: cuModuleUnload_t, required;
    cuModuleGetFunction @ 2000 = cuModuleGetFunction: cuModuleGetFunction_t, required;
    cuModuleGetGlobal @ 3020 = cuModuleGetGlobal_v2: cuModuleGetGlobal_v2_t, required;
    cuFuncGetAttribute @ 2020 = cuFuncGetAttribute: cuFuncGetAttribute_t, required;
    cuFuncSetAttribute @ 9000 = cuFuncSetAttribute: cuFuncSetAttribute_t, required;
    cuLaunchKernel @ 4000 = cuLaunchKernel: cuLaunchKernel_t, required;

    // Graphs, with the kernel nodes of CUDA 12.0.
    cuGraphCreate @ 10000 = cuGraphCreate: cuGraphCreate_t, optional;
    cuGraphDestroy @ 10000 = cuGraphDestroy: cuGraphDestroy_t, optional;
    cuGraphAddEmptyNode @ 10000 = cuGraphAddEmptyNode: cuGraphAddEmptyNode_t, optional;
    cuGraphAddMemsetNode @ 10000 = cuGraphAddMemsetNode: cuGraphAddMemsetNode_t, optional;
    cuGraphAddMemcpyNode @ 10000 = cuGraphAddMemcpyNode: cuGraphAddMemcpyNode_t, optional;
    cuGraphAddKernelNode @ 12000 = cuGraphAddKernelNode_v2: cuGraphAddKernelNode_v2_t, optional;
    cuGraphInstantiateWithFlags @ 11040 = cuGraphInstantiateWithFlags: cuGraphInstantiateWithFlags_t, optional;
    cuGraphExecMemsetNodeSetParams @ 10020 = cuGraphExecMemsetNodeSetParams: cuGraphExecMemsetNodeSetParams_t, optional;
    cuGraphExecMemcpyNodeSetParams @ 10020 = cuGraphExecMemcpyNodeSetParams: cuGraphExecMemcpyNodeSetParams_t, optional;
    cuGraphExecKernelNodeSetParams @ 12000 = cuGraphExecKernelNodeSetParams_v2: cuGraphExecKernelNodeSetParams_v2_t, optional;
    cuGraphLaunch @ 10000 = cuGraphLaunch: cuGraphLaunch_t, optional;
    cuGraphExecDestroy @ 10000 = cuGraphExecDestroy: cuGraphExecDestroy_t, optional;

    // Code, told by drivers of CUDA 12.4 and later.
    cuModuleGetFunctionCount @ 12040 = cuModuleGetFunctionCount: cuModuleGetFunctionCount_t, optional;
    cuModuleEnumerateFunctions @ 12040 = cuModuleEnumerateFunctions: cuModuleEnumerateFunctions_t, optional;
    cuFuncGetName @ 12030 = cuFuncGetName: cuFuncGetName_t, optional;
    cuFuncGetParamInfo @ 12040 = cuFuncGetParamInfo: cuFuncGetParamInfo_t, optional;
}
