//! What CUDA and HIP share: deferred work queue, timeline semaphores, pools, command buffers.
