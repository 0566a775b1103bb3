// SPDX-License-Identifier: Apache-2.0
// The kernels' code, run by the fake driver, compared with the CPU's.
#include "horovodpp/device/cuda_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "horovodpp/collective/reduce/kernel.h"
#include "horovodpp/device/cuda_memory.h"
#include "horovodpp/device/kernels/images.h"
#include "test/support/test_gpus.h"

namespace hvd::device {
namespace {

using collective::ReduceKernel;
using collective::Reduction;
using Bytes = std::vector<std::byte>;

// If two NaN are added, the compiler chooses which one's bits survive.
bool same_numbers(DType dtype, const Bytes& a, const Bytes& b) {
  if (a == b) return true;
  return visit(dtype, [&]<typename T>(TypeTag<T>) {
    for (std::size_t i = 0; i < a.size() / sizeof(T); ++i) {
      T x;
      T y;
      std::memcpy(static_cast<void*>(&x), a.data() + i * sizeof(T), sizeof(T));
      std::memcpy(static_cast<void*>(&y), b.data() + i * sizeof(T), sizeof(T));
      const bool both_nan = !(x == x) && !(y == y);
      if (!both_nan && std::memcmp(&x, &y, sizeof(T)) != 0) return false;
    }
    return true;
  });
}

class CudaKernelsTest : public ::testing::Test {
 protected:
  std::byte* upload(const Bytes& bytes) {
    memory_.push_back(allocate_on(context_, bytes.size()).value());
    EXPECT_TRUE(
        stream_.copy(memory_.back().get(), bytes.data(), bytes.size()).ok());
    EXPECT_TRUE(stream_.synchronize().ok());
    return memory_.back().get();
  }
  Bytes download(const std::byte* gpu, std::size_t bytes) {
    Bytes result(bytes);
    EXPECT_TRUE(stream_.copy(result.data(), gpu, bytes).ok());
    EXPECT_EQ(stream_.synchronize(), absl::OkStatus());
    return result;
  }
  // Random bits or small values.
  Bytes any(std::size_t bytes) {
    Bytes result(bytes);
    for (std::byte& byte : result) byte = static_cast<std::byte>(random_());
    return result;
  }
  Bytes floats(std::size_t count) {
    std::vector<float> values(count);
    for (float& value : values) {
      value = static_cast<float>(random_() % 2000) / 64.0f - 15.0f;
    }
    Bytes result(count * sizeof(float));
    std::memcpy(result.data(), values.data(), result.size());
    return result;
  }

  const std::unique_ptr<CudaDriver> cuda_ =
      CudaDriver::load(testing::TestGpus::cuda_library()).value();
  const CudaContext context_ = cuda_->context(0).value();
  CudaStream stream_ = CudaStream::create(context_).value();
  const std::unique_ptr<CudaKernels> kernels_ =
      CudaKernels::load(context_).value();
  std::vector<std::shared_ptr<std::byte>> memory_;
  std::mt19937_64 random_{7};
};

TEST_F(CudaKernelsTest, CopyPiecesOfAnySizeAndPlace) {
  constexpr std::size_t kPieces = 150;  // Needs two grids.
  std::vector<Bytes> sent;
  std::vector<CudaKernels::Piece> pieces;
  for (std::size_t i = 0; i < kPieces; ++i) {
    const std::size_t bytes = i == 7 ? 100'003 : i * i % 97;
    sent.push_back(any(bytes + 16));
    const std::byte* const from = upload(sent.back());
    std::byte* const to = upload(Bytes(bytes + 16));
    pieces.push_back({.from = from + i % 5,
                      .to = to + i % 5 * (i % 2),
                      .count = static_cast<std::int64_t>(bytes)});
  }
  const std::size_t before = testing::TestGpus::launches();
  ASSERT_EQ(kernels_->copy(stream_, pieces), absl::OkStatus());
  testing::TestGpus::expect_launches_since(before, 2);
  for (std::size_t i = 0; i < kPieces; ++i) {
    const auto bytes = static_cast<std::size_t>(pieces[i].count);
    const auto begin = sent[i].begin() + static_cast<std::ptrdiff_t>(i % 5);
    ASSERT_EQ(download(static_cast<std::byte*>(pieces[i].to), bytes),
              Bytes(begin, begin + static_cast<std::ptrdiff_t>(bytes)))
        << "piece " << i;
  }
}

TEST_F(CudaKernelsTest, ReduceToTheBitsOfTheCpu) {
  for (const DType dtype : kAllDTypes) {
    for (const ReduceOpRow& row : kReduceOps) {
      const ReduceOp op = row.op;
      for (const bool scaled : {false, true}) {
        if (!CudaKernels::reduces({dtype, op, scaled || row.divides})) {
          continue;
        }
        const Reduction reduction = {.dtype = dtype,
                                     .op = op,
                                     .prescale = scaled ? 0.3 : 1.0,
                                     .postscale = scaled ? 1.7 : 1.0};
        for (const std::int64_t count : {1, 37, 4100}) {
          constexpr std::uint32_t kRanks = 3;
          const auto bytes = static_cast<std::size_t>(count) * size_of(dtype);
          kernels::ReduceArguments arguments = {
              .members = kRanks,
              .first_output = 1,
              .outputs = 2,
              .op = op,
              .count = count,
              .prescale = reduction.prescale,
              .postscale = reduction.postscale,
              .divisor = row.divides ? 3 : 1};
          std::vector<Bytes> inputs;
          std::vector<const void*> addresses;
          for (std::uint32_t r = 0; r < kRanks; ++r) {
            inputs.push_back(any(bytes));
            if (dtype == DType::kBool) {
              for (std::byte& b : inputs[r]) b &= std::byte{1};
            }
            arguments.memory[r] = upload(inputs[r]);
          }
          for (const Bytes& input : inputs) addresses.push_back(input.data());
          Bytes expected(bytes);
          ReduceKernel(reduction, kRanks)
              .reduce(addresses, expected.data(), count);
          ASSERT_EQ(kernels_->reduce(stream_, dtype, arguments),
                    absl::OkStatus());
          for (const std::uint32_t r : {1u, 2u}) {
            const Bytes result =
                download(static_cast<std::byte*>(arguments.memory[r]), bytes);
            ASSERT_TRUE(same_numbers(dtype, result, expected))
                << name_of(op) << " of " << count << " " << name_of(dtype);
          }
          ASSERT_EQ(
              download(static_cast<std::byte*>(arguments.memory[0]), bytes),
              inputs[0]);
          memory_.clear();
        }
      }
    }
  }
}

TEST_F(CudaKernelsTest, DeclineUnsupportedTypesAndOps) {
  EXPECT_FALSE(CudaKernels::reduces({DType::kI32, ReduceOp::kAverage, true}));
  EXPECT_FALSE(CudaKernels::reduces({DType::kF32, ReduceOp::kAdasum, false}));
  EXPECT_FALSE(CudaKernels::converts(DType::kI32, DType::kF32));
  EXPECT_EQ(
      kernels_->convert(stream_, {}, {.from = DType::kF64, .to = DType::kBF16})
          .code(),
      absl::StatusCode::kInternal);
}

template <typename T>
T at(const Bytes& bytes, std::size_t index) {
  T value;
  std::memcpy(static_cast<void*>(&value), bytes.data() + index * sizeof(T),
              sizeof(T));
  return value;
}

TEST_F(CudaKernelsTest, ScaleAndConvertToHalvesAndBack) {
  constexpr std::size_t kCount = 5000;
  const Bytes sent = floats(kCount);
  for (const DType half : {DType::kF16, DType::kBF16}) {
    std::byte* const from = upload(sent);
    std::byte* const between = upload(Bytes(kCount * 2));
    std::byte* const to = upload(Bytes(kCount * 4));
    // In two pieces, the second at an unaligned address.
    const auto cut = [&](const std::byte* a, std::size_t a_size, std::byte* b,
                         std::size_t b_size) {
      return std::vector<CudaKernels::Piece>{
          {.from = a, .to = b, .count = 1001},
          {.from = a + 1001 * a_size,
           .to = b + 1001 * b_size,
           .count = static_cast<std::int64_t>(kCount) - 1001}};
    };
    ASSERT_EQ(
        kernels_->convert(stream_, cut(from, 4, between, 2),
                          {.from = DType::kF32, .to = half, .scale = 0.5}),
        absl::OkStatus());
    ASSERT_EQ(kernels_->convert(stream_, cut(between, 2, to, 4),
                                {.from = half, .to = DType::kF32}),
              absl::OkStatus());
    const Bytes result = download(to, kCount * 4);
    for (std::size_t i = 0; i < kCount; ++i) {
      const float scaled = at<float>(sent, i) * 0.5f;
      const float expected = half == DType::kF16
                                 ? static_cast<float>(f16(scaled))
                                 : static_cast<float>(bf16(scaled));
      ASSERT_EQ(at<float>(result, i), expected) << i;
    }
  }
}

TEST_F(CudaKernelsTest, SeeWhetherTheNumbersAreFinite) {
  constexpr std::size_t kCount = 9000;
  for (const bool finite : {true, false}) {
    Bytes sent = floats(kCount);
    if (!finite) {
      const float infinity = INFINITY;
      std::memcpy(sent.data() + 8000 * sizeof(float), &infinity, sizeof(float));
    }
    std::byte* const from = upload(sent);
    const CudaKernels::Piece piece = {
        .from = from, .to = from, .count = kCount};
    const std::size_t blocks = CudaKernels::sightings_of({&piece, 1});
    EXPECT_EQ(blocks, 3u);
    std::byte* const seen = upload(Bytes(blocks * sizeof(kernels::Sighting)));
    ASSERT_EQ(kernels_->convert(
                  stream_, {&piece, 1},
                  {.scale = 2.0,
                   .sightings = reinterpret_cast<kernels::Sighting*>(seen)}),
              absl::OkStatus());
    const Bytes result = download(seen, blocks * sizeof(kernels::Sighting));
    double squares = 0;
    std::uint32_t not_finite = 0;
    for (std::size_t b = 0; b < blocks; ++b) {
      squares += at<kernels::Sighting>(result, b).squares;
      not_finite |= at<kernels::Sighting>(result, b).not_finite;
    }
    EXPECT_EQ(not_finite == 0, finite);
    if (finite) {
      double expected = 0;
      for (std::size_t i = 0; i < kCount; ++i) {
        expected += std::pow(double{at<float>(sent, i)}, 2);
      }
      EXPECT_NEAR(squares, expected, 1e-12 * expected);
    }
    EXPECT_EQ(at<float>(download(from, kCount * 4), 5), 2 * at<float>(sent, 5));
  }
}

TEST_F(CudaKernelsTest, ReadPinnedMemory) {
  PinnedMemory pinned(context_);
  std::byte* const there = pinned.at_least(64).value();
  std::byte* const to = upload(Bytes(64));
  const CudaKernels::Piece piece = {.from = there, .to = to, .count = 64};
  ASSERT_EQ(kernels_->copy(stream_, {&piece, 1}), absl::OkStatus());
  EXPECT_EQ(stream_.synchronize(), absl::OkStatus());
}

// A real GPU would be unusable in this process afterwards.
TEST_F(CudaKernelsTest, ReadNoOtherMemoryOfTheHost) {
  HVD_NEEDS_STAND_INS();
  std::byte* const to = upload(Bytes(64));
  const Bytes pageable(64);
  const CudaKernels::Piece wrong = {
      .from = pageable.data(), .to = to, .count = 64};
  ASSERT_EQ(kernels_->copy(stream_, {&wrong, 1}), absl::OkStatus());
  EXPECT_THAT(std::string(stream_.synchronize().message()),
              ::testing::HasSubstr("ILLEGAL_ADDRESS"));
}

// With several images, the next image is tried.
TEST_F(CudaKernelsTest, ReportWhyTheDriverRefusesThem) {
  HVD_NEEDS_STAND_INS();
  testing::FakeCuda::fail_next("cuModuleLoadData", 218);
  const auto loaded = CudaKernels::load(context_);
  if (kernels::compiled_image() != nullptr) {
    EXPECT_TRUE(loaded.ok()) << loaded.status();
  } else {
    EXPECT_EQ(loaded.status().code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(loaded.status().message()),
                ::testing::HasSubstr("cuModuleLoadData"));
  }
}

TEST(KernelImages, EndWithPtxForTheOldestDriver) {
  const auto* const ptx = static_cast<const char*>(kernels::images().back());
  EXPECT_THAT(std::string(ptx, 300), ::testing::HasSubstr(".version 7.2"));
  EXPECT_THAT(std::string(ptx), ::testing::HasSubstr(".entry hvd_copy("));
}

}  // namespace
}  // namespace hvd::device
