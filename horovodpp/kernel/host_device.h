// SPDX-License-Identifier: Apache-2.0
// HVD_BOTH marks functions that are compiled for the CPU and, by nvcc, for GPUs.
#pragma once

#ifdef __CUDACC__
#define HVD_BOTH __host__ __device__
#else
#define HVD_BOTH
#endif
