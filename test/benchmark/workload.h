// SPDX-License-Identifier: Apache-2.0
// A Workload is the tensors that all ranks reduce in one measured call, and how
// they are submitted. workloads() are in docs/benchmarks.md.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "horovodpp/core/dtype.h"
#include "horovodpp/core/shape.h"

namespace hvd::benchmark {

struct Workload {
  std::string name = {};
  std::vector<Shape> shapes = {};  // Contiguous in memory, in this order.
  DType dtype = DType::kF32;
  // The number of calls in one measurement, which reports their mean. More than
  // one for short calls, because the first call after a pause is unlike those
  // in a training step.
  int calls = 1;
  int warm_ups = 6;  // For negotiation and a fixed order.
  int repeats = 30;

  std::size_t tensors() const { return shapes.size(); }
  std::size_t bytes() const;
};

// `tiny`: the same with tensors of a few elements and two repeats, to check
// that all workloads run.
std::vector<Workload> workloads(bool tiny);

}  // namespace hvd::benchmark
