// How parameters begin, and the seed that decides it.
#pragma once

#include <cstdint>

#include "horovodpp/autograd/dims.h"
#include "horovodpp/autograd/generator.h"
#include "horovodpp/autograd/tensor.h"

namespace hvd::nn {

// Seeds the generator of this thread: what modules draw from.
using hvd::manual_seed;

// A parameter, uniform in [-bound, bound).
Tensor uniform(const autograd::Dims& sizes, double bound,
               DType dtype = DType::kF32);

// The bound sqrt(6 / ((1 + a^2) fan_in)) with a = sqrt 5, that is
// 1 / sqrt(fan_in).
double kaiming_uniform_bound(std::int64_t fan_in);

}  // namespace hvd::nn
