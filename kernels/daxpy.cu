#include "dev.h"

// y[i] = a * x[i] + y[i] for i < n in double precision, rounded twice. One thread per element.
extern "C" __global__ void daxpy(double a, const double* x, double* y, u32 n) {
    u32 i = global_x();
    if (i < n) y[i] = a * x[i] + y[i];
}
