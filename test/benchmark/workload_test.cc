// SPDX-License-Identifier: Apache-2.0
#include "test/benchmark/workload.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "test/benchmark/model_shapes.h"
#include "test/benchmark/quartiles.h"

namespace hvd::benchmark {
namespace {

std::int64_t elements(const std::vector<Shape>& shapes) {
  std::int64_t sum = 0;
  for (const Shape& shape : shapes) sum += shape.num_elements();
  return sum;
}

TEST(ModelShapes, AreThoseOfTheModels) {
  EXPECT_EQ(resnet50_shapes().size(), 161u);
  EXPECT_EQ(elements(resnet50_shapes()), 25'557'032);
  EXPECT_EQ(gpt2_small_shapes().size(), 148u);
  EXPECT_EQ(elements(gpt2_small_shapes()), 124'439'808);
}

TEST(Workloads, HaveTheSizesOfTheirNames) {
  std::set<std::string> names;
  for (const Workload& workload : workloads(/*tiny=*/false)) {
    EXPECT_TRUE(names.insert(workload.name).second) << workload.name;
    if (workload.name.starts_with("64 MiB")) {
      EXPECT_EQ(workload.bytes(), std::size_t{64} << 20);
    }
    if (workload.name == "4 B") {
      EXPECT_EQ(workload.bytes(), 4u);
    }
    if (workload.name == "1,000 x 1 KiB") {
      EXPECT_EQ(workload.bytes(), 1'024'000u);
      EXPECT_EQ(workload.tensors(), 1000u);
    }
  }
  EXPECT_EQ(names.size(), 12u);
}

TEST(Workloads, TinyOnesAreTheSameWithFewElements) {
  const auto full = workloads(/*tiny=*/false);
  const auto tiny = workloads(/*tiny=*/true);
  ASSERT_EQ(tiny.size(), full.size());
  for (std::size_t i = 0; i < tiny.size(); ++i) {
    EXPECT_EQ(tiny[i].name, full[i].name);
    EXPECT_EQ(tiny[i].tensors(), full[i].tensors());
    EXPECT_LE(tiny[i].bytes(), tiny[i].tensors() * 256);
  }
}

TEST(Quartiles, InterpolateBetweenValues) {
  const Quartiles odd = quartiles({5, 1, 3, 2, 4});
  EXPECT_EQ(odd.first, 2);
  EXPECT_EQ(odd.median, 3);
  EXPECT_EQ(odd.third, 4);
  const Quartiles even = quartiles({4, 1, 3, 2});
  EXPECT_EQ(even.first, 1.75);
  EXPECT_EQ(even.median, 2.5);
  EXPECT_EQ(even.third, 3.25);
  EXPECT_EQ(quartiles({7}).median, 7);
}

}  // namespace
}  // namespace hvd::benchmark
