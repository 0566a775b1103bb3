// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/gpu/gpu_clip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <latch>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "horovodpp/core/error.h"
#include "horovodpp/core/half.h"
#include "horovodpp/device/cuda_graph.h"
#include "test/device/gpu_program.h"

namespace hvd {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

class GpuClipTest : public ::testing::Test {
 protected:
  GpuClipTest() : mine_(begun()) {}

  // A gradient on the GPU and its values on the host.
  template <typename T>
  std::pair<TensorView, std::vector<T>> gradient(std::size_t count) {
    std::vector<T> values;
    for (std::size_t i = 0; i < count; ++i) {
      const double value = static_cast<double>(random_() % 2000) / 64.0 - 15.0;
      values.push_back(static_cast<T>(static_cast<float>(value)));
    }
    return {mine_.put(values), values};
  }
  template <typename T>
  std::vector<T> get(const TensorView& tensor) {
    std::vector<T> values(static_cast<std::size_t>(tensor.num_elements()));
    EXPECT_TRUE(mine_.own_stream()
                    .copy(static_cast<void*>(values.data()), tensor.data(),
                          tensor.bytes())
                    .ok());
    EXPECT_EQ(mine_.own_stream().synchronize(), absl::OkStatus());
    return values;
  }
  ClipFindings found(GpuClip& clip) {
    return value_or_throw(clip.wait(mine_.stream()));
  }
  static double squares(const auto& values) {
    double sum = 0;
    for (const auto value : values) {
      sum += std::pow(static_cast<double>(as_number(value)), 2);
    }
    return sum;
  }
  template <typename T>
  static auto as_number(T value) {
    if constexpr (std::is_same_v<T, double>) {
      return value;
    } else {
      return static_cast<float>(value);
    }
  }
  // Expects the CPU's bits: one product in the computation type.
  template <typename T>
  void expect_scaled(const TensorView& tensor, const std::vector<T>& before,
                     double factor) {
    const std::vector<T> after = get<T>(tensor);
    using Number = decltype(as_number(T{}));
    for (std::size_t i = 0; i < before.size(); ++i) {
      const auto expected =
          static_cast<T>(as_number(before[i]) * static_cast<Number>(factor));
      ASSERT_EQ(as_number(after[i]), as_number(expected)) << i;
    }
  }

  GpuProgram mine_;
  std::mt19937 random_{7};

 private:
  static GpuProgram begun() {
    gpu_config(Way::kNccl);
    return GpuProgram(0, 1, Way::kNccl);
  }
};

TEST_F(GpuClipTest, ScalesAllTypesDownToOneNorm) {
  const auto [a, floats] = gradient<float>(9001);
  const auto [b, halves] = gradient<f16>(5000);
  const auto [c, brain_halves] = gradient<bf16>(77);
  const auto [d, doubles] = gradient<double>(300);
  const auto [e, none] = gradient<float>(0);
  GpuClip clip = value_or_throw(GpuClip::of({a, b, c, d, e}));
  throw_if_error(
      clip.start({.max_norm = 2.0, .factor = 0.25, .stream = mine_.stream()}));
  const ClipFindings all = found(clip);
  const double norm =
      0.25 * std::sqrt(squares(floats) + squares(halves) +
                       squares(brain_halves) + squares(doubles));
  EXPECT_NEAR(all.norm, norm, 1e-12 * norm);
  EXPECT_EQ(all.not_finite, 0u);
  EXPECT_EQ(all.factor, 0.25 * (2.0 / (all.norm + 1e-6)));
  expect_scaled(a, floats, all.factor);
  expect_scaled(b, halves, all.factor);
  expect_scaled(c, brain_halves, all.factor);
  expect_scaled(d, doubles, all.factor);
}

TEST_F(GpuClipTest, ScalesASmallNormByTheFactorAlone) {
  const auto [x, values] = gradient<float>(5000);
  GpuClip clip = value_or_throw(GpuClip::of({x}));
  for (const double bound : {1e9, kUnbounded}) {
    throw_if_error(clip.start({.max_norm = bound, .stream = mine_.stream()}));
    EXPECT_EQ(found(clip).factor, 1.0);
    EXPECT_EQ(get<float>(x), values);
  }
  throw_if_error(clip.start({.factor = 0.125, .stream = mine_.stream()}));
  EXPECT_EQ(found(clip).factor, 0.125);
  expect_scaled(x, values, 0.125);
}

// A program that skips its step by a flag on the GPU does not need the host.
TEST_F(GpuClipTest, KeepsGradientsIfOneIsNotFinite) {
  const auto [x, values] = gradient<float>(5000);
  for (const float bad : {INFINITY, -INFINITY, NAN}) {
    std::vector<float> some(9000, 1.0f);
    some[8500] = bad;
    GpuClip clip = value_or_throw(GpuClip::of({x, mine_.put(some)}));
    throw_if_error(
        clip.start({.max_norm = 0.5, .factor = 0.5, .stream = mine_.stream()}));
    const ClipFindings all = found(clip);
    EXPECT_NE(all.not_finite, 0u);
    EXPECT_EQ(all.factor, 1.0);
    EXPECT_EQ(get<float>(x), values);
  }
}

TEST_F(GpuClipTest, FindsTheSameBitsAtAnyAlignment) {
  const auto [wide, values] = gradient<float>(10007);
  std::vector<double> norms;
  for (const std::size_t shift : {0, 1, 2, 3}) {
    std::vector<float> shifted(shift, 0.0f);
    shifted.insert(shifted.end(), values.begin(), values.end());
    const TensorView all = mine_.put(shifted);
    const TensorView x(static_cast<float*>(all.data()) + shift, DType::kF32,
                       wide.shape(), all.device());
    GpuClip clip = value_or_throw(GpuClip::of({x}));
    throw_if_error(clip.start({.stream = mine_.stream()}));
    norms.push_back(found(clip).norm);
  }
  EXPECT_THAT(norms, Each(norms.front()));
}

// Earlier work blocks the stream until both clips have been started.
TEST_F(GpuClipTest, KeepsTheOrderOfTheStreamWithoutBlockingTheHost) {
  HVD_NEEDS_STAND_INS();
  std::latch started(1);
  testing::FakeCuda::put(
      mine_.stream(),
      [](void* latch) {
        static_cast<std::latch*>(latch)->wait();
        return 0;
      },
      &started);
  const TensorView x = mine_.put(std::vector<float>(4, 8.0f));
  GpuClip clip = value_or_throw(GpuClip::of({x}));
  throw_if_error(clip.start({.max_norm = 1.0, .stream = mine_.stream()}));
  throw_if_error(clip.start({.factor = 4.0, .stream = mine_.stream()}));
  started.count_down();
  const ClipFindings all = found(clip);
  EXPECT_NEAR(all.norm, 4.0, 1e-5);
  const float clipped = 8.0f * static_cast<float>(1.0 / (16.0 + 1e-6));
  EXPECT_THAT(get<float>(x), Each(clipped * 4.0f));
}

TEST_F(GpuClipTest, IsCapturedAndReplayed) {
  const device::CudaContext& context = mine_.own_stream().context();
  const TensorView x = mine_.put(std::vector<float>(4, 0.0f));
  GpuClip clip = value_or_throw(GpuClip::of({x}));
  auto* const stream = static_cast<device::CuStream>(mine_.stream());
  ASSERT_EQ(device::CudaGraph::begin(context, stream), absl::OkStatus());
  EXPECT_EQ(clip.start({.max_norm = 1.0, .stream = mine_.stream()}), Status());
  const auto graph = device::CudaGraph::end(context, stream);
  ASSERT_EQ(graph.status(), absl::OkStatus());
  for (const float value : {0.25f, 4.0f}) {
    const TensorView next = mine_.put(std::vector<float>(4, value));
    ASSERT_TRUE(mine_.own_stream().copy(x.data(), next.data(), x.bytes()).ok());
    ASSERT_EQ((*graph)->launch(mine_.own_stream()), absl::OkStatus());
    const ClipFindings all = found(clip);
    EXPECT_EQ(all.norm, 2.0 * double{value});
    EXPECT_THAT(get<float>(x), Each(value * static_cast<float>(all.factor)));
  }
}

TEST_F(GpuClipTest, RefusesUnsupportedGradients) {
  HVD_NEEDS_GPUS(2);
  const TensorView x = mine_.put(std::vector<float>(4, 1.0f));
  const TensorView numbers = mine_.put(std::vector<std::int32_t>(4, 1));
  GpuProgram other(1, 2, Way::kNccl);
  const TensorView elsewhere = other.put(std::vector<float>(4, 1.0f));
  std::vector<float> host(4);
  const auto refusal = [](std::vector<TensorView> gradients) {
    const Status status = GpuClip::of(std::move(gradients)).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(refusal({}), HasSubstr("no gradient"));
  EXPECT_THAT(refusal({x, numbers}), HasSubstr("int32"));
  EXPECT_THAT(refusal({x, elsewhere}), HasSubstr("one is on cuda:1"));
  EXPECT_THAT(refusal({TensorView::of(host.data(), {4})}), HasSubstr("cpu"));
  const TensorView wrong(x.data(), x.dtype(), x.shape(), Device::cuda(1));
  EXPECT_THAT(refusal({wrong}), HasSubstr("belongs to cuda:0"));

  GpuClip clip = value_or_throw(GpuClip::of({x}));
  for (const GpuClipOptions& options :
       {GpuClipOptions{.max_norm = -1.0}, GpuClipOptions{.max_norm = NAN},
        GpuClipOptions{.factor = INFINITY}}) {
    EXPECT_EQ(clip.start(options).code(), StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace hvd
