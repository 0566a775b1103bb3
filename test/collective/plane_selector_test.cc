// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/plane_selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace hvd::collective {
namespace {

using ::testing::HasSubstr;

// Supports CPU memory up to a size, and moves nothing.
class SizedPlane : public PlaneOf<SizedPlane> {
 public:
  SizedPlane(std::string name, std::size_t most)
      : name_(std::move(name)), most_(most) {}
  std::string name() const override { return name_; }
  bool supports(const Device& device, std::size_t bytes) const override {
    return device.is_cpu() && bytes <= most_;
  }
  template <typename What>
  absl::Status serve(const What&, const Call&) {
    return absl::OkStatus();
  }

 private:
  const std::string name_;
  const std::size_t most_;
};

PlaneSelector two_planes() {
  std::vector<std::unique_ptr<DataPlane>> planes;
  planes.push_back(std::make_unique<SizedPlane>("line", 48));
  planes.push_back(std::make_unique<SizedPlane>("shm", 4096));
  return PlaneSelector(std::move(planes));
}

TEST(PlaneSelector, TakesTheFirstPlaneThatSupportsTheCall) {
  const PlaneSelector selector = two_planes();
  EXPECT_EQ((*selector.select(Device::cpu(), 0))->name(), "line");
  EXPECT_EQ((*selector.select(Device::cpu(), 48))->name(), "line");
  EXPECT_EQ((*selector.select(Device::cpu(), 49))->name(), "shm");
}

class AdasumToo : public SizedPlane {
 public:
  using SizedPlane::SizedPlane;
  bool reduces_by(ReduceOp) const override { return true; }
};

TEST(PlaneSelector, LeavesAdasumToThePlaneThatKnowsIt) {
  std::vector<std::unique_ptr<DataPlane>> planes;
  planes.push_back(std::make_unique<SizedPlane>("shm", 4096));
  planes.push_back(std::make_unique<AdasumToo>("adasum", 4096));
  const PlaneSelector selector(std::move(planes));
  const Device cpu = Device::cpu();
  EXPECT_EQ((*selector.select(cpu, 8))->name(), "shm");
  EXPECT_EQ((*selector.select(cpu, 8, ReduceOp::kMax))->name(), "shm");
  EXPECT_EQ((*selector.select(cpu, 8, ReduceOp::kAdasum))->name(), "adasum");
  const auto none = two_planes().select(cpu, 8, ReduceOp::kAdasum);
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("by adasum"));
}

TEST(PlaneSelector, NamesCallAndPlanesIfNoPlaneFits) {
  const auto none = two_planes().select(Device::cuda(1), 400);
  EXPECT_EQ(none.status().code(), absl::StatusCode::kUnimplemented);
  const std::string message(none.status().message());
  EXPECT_THAT(message, HasSubstr("400 bytes on cuda:1"));
  EXPECT_THAT(message, HasSubstr("there is: line, shm"));
}

TEST(PlaneSelector, SaysThatItHasNoPlanes) {
  const auto none = PlaneSelector({}).select(Device::cpu(), 1);
  EXPECT_THAT(std::string(none.status().message()),
              HasSubstr("there is: none"));
}

}  // namespace
}  // namespace hvd::collective
