//! A software GPU with the CUDA driver ABI and the HIP runtime ABI.
