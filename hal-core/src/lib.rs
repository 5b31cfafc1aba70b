//! Traits, types, errors and validation of the GPU compute HAL.
