// SPDX-License-Identifier: Apache-2.0
#include "test/benchmark/workload.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "test/benchmark/model_shapes.h"

namespace hvd::benchmark {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

int repeats_for(std::size_t bytes) {
  if (bytes <= (std::size_t{1} << 20)) return 100;
  if (bytes <= (std::size_t{16} << 20)) return 60;
  return bytes <= (std::size_t{64} << 20) ? 30 : 12;
}

int calls_for(std::size_t bytes) {
  if (bytes <= 4096) return 200;
  return bytes <= (std::size_t{1} << 20) ? 10 : 1;
}

Workload one_tensor(std::string name, std::int64_t bytes,
                    DType dtype = DType::kF32) {
  Workload workload = {.name = std::move(name), .dtype = dtype};
  workload.shapes = {
      Shape({bytes / static_cast<std::int64_t>(size_of(dtype))})};
  return workload;
}

}  // namespace

std::size_t Workload::bytes() const {
  std::int64_t elements = 0;
  for (const Shape& shape : shapes) elements += shape.num_elements();
  return static_cast<std::size_t>(elements) * size_of(dtype);
}

std::vector<Workload> workloads(bool tiny) {
  std::vector<Workload> all = {
      one_tensor("4 B", 4),
      one_tensor("4 KiB", 4096),
      one_tensor("64 KiB", kMiB / 16),
      one_tensor("1 MiB", kMiB),
      one_tensor("16 MiB", 16 * kMiB),
      one_tensor("64 MiB", 64 * kMiB),
      one_tensor("256 MiB", 256 * kMiB),
      one_tensor("64 MiB float16", 64 * kMiB, DType::kF16),
      one_tensor("64 MiB bfloat16", 64 * kMiB, DType::kBF16),
      {.name = "1,000 x 1 KiB",
       .shapes = std::vector<Shape>(1000, Shape({256}))},
      {.name = "ResNet-50", .shapes = resnet50_shapes()},
      {.name = "GPT-2 small", .shapes = gpt2_small_shapes()}};
  for (Workload& workload : all) {
    workload.repeats = repeats_for(workload.bytes());
    workload.calls = calls_for(workload.bytes());
    if (!tiny) continue;
    workload.calls = std::min(workload.calls, 3);
    workload.warm_ups = 1;
    workload.repeats = 2;
    for (Shape& shape : workload.shapes) {
      shape = Shape({std::min<std::int64_t>(shape.num_elements(), 64)});
    }
  }
  return all;
}

}  // namespace hvd::benchmark
