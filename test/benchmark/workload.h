// SPDX-License-Identifier: Apache-2.0
// A Workload is what all ranks reduce in one measured call: some tensors, handed
// over in some way. workloads() are those of docs/benchmarks.md.
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
  // In one measurement, which tells their mean: more than one where a call is
  // short, and the first after a pause is not like those in a training step.
  int calls = 1;
  int warm_ups = 6;  // The ranks agree on names, and on an order.
  int repeats = 30;

  std::size_t tensors() const { return shapes.size(); }
  std::size_t bytes() const;
};

// `tiny`: the same, with tensors of a few elements and two repeats, to see
// whether all of it runs.
std::vector<Workload> workloads(bool tiny);

}  // namespace hvd::benchmark
