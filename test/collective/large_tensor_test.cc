// SPDX-License-Identifier: Apache-2.0
// Tensors of more than 2^31 elements: one 16 MiB block, mapped repeatedly,
// followed by separate pages that only correct 64-bit arithmetic reaches.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "test/collective/fleets.h"

namespace hvd::collective {
namespace {

constexpr std::size_t kBlock = std::size_t{16} << 20;
constexpr std::size_t kBlocks = 128;
constexpr std::size_t kTail = 4096 + 3;
constexpr std::size_t kSize = kBlock * kBlocks + kTail;
static_assert(kSize > std::size_t{1} << 31);

// ThreadSanitizer's shadow memory would be several times as large.
#if defined(__SANITIZE_THREAD__)
constexpr bool kFits = false;
#else
constexpr bool kFits = true;
#endif

class LargeTensor {
 public:
  explicit LargeTensor(std::byte value) {
    void* place = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_NE(place, MAP_FAILED);
    data_ = static_cast<std::byte*>(place);
    const int file = ::memfd_create("large", 0);
    EXPECT_EQ(::ftruncate(file, kBlock), 0);
    for (std::size_t i = 0; i < kBlocks; ++i) {
      EXPECT_NE(::mmap(data_ + i * kBlock, kBlock, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_FIXED, file, 0),
                MAP_FAILED);
    }
    ::close(file);
    std::memset(data_, static_cast<int>(value), kBlock);
    std::memset(tail(), static_cast<int>(value), kTail);
  }
  ~LargeTensor() { ::munmap(data_, kSize); }
  LargeTensor(const LargeTensor&) = delete;
  LargeTensor& operator=(const LargeTensor&) = delete;

  std::byte* data() { return data_; }
  std::byte* tail() { return data_ + kBlock * kBlocks; }

  bool is_all(std::byte value) {
    const auto is_value = [&](std::byte b) { return b == value; };
    return std::all_of(data_, data_ + kBlock, is_value) &&
           std::all_of(tail(), tail() + kTail, is_value);
  }

 private:
  std::byte* data_;
};

TEST(LargeTensor, IsReducedThroughSharedMemory) {
  if (!kFits) GTEST_SKIP() << "too much memory under this sanitizer";
  on_loopback(2, [](transport::Communicator& communicator) {
    const auto body = [](Member& member) {
      LargeTensor tensor(std::byte(7 + member.rank));
      // The mapped block is reduced many times in place, which does not change
      // a minimum.
      const Piece piece = {tensor.data(), tensor.data(), kSize};
      const Reduction least = {.dtype = DType::kU8, .op = ReduceOp::kMin};
      ASSERT_TRUE(
          member.plane.allreduce({&piece, 1}, least, member.next()).ok());
      EXPECT_TRUE(tensor.is_all(std::byte{7}));
    };
    run_on_shm(communicator, 2, body, {});
  });
}

TEST(LargeTensor, IsSentToAnotherRankOverWires) {
  if (!kFits) GTEST_SKIP() << "too much memory under this sanitizer";
  on_loopback(2, [](transport::Communicator& communicator) {
    const bool sends = communicator.rank() == 0;
    RingPlane plane(communicator, test_waiting(2),
                    {.chunk_bytes = std::size_t{1} << 20});
    NeverInterrupt interrupt;
    LargeTensor tensor(sends ? std::byte{9} : std::byte{0});
    const std::array<std::size_t, 2> all = {0, kSize};
    const std::array<std::size_t, 2> none = {0, 0};
    const std::array<std::size_t, 2> from_first = {kSize, 0};
    const absl::Status status =
        sends ? plane.alltoall({tensor.data(), kSize}, all, nullptr, none,
                               {{1, 1}, interrupt})
              : plane.alltoall({}, none, tensor.data(), from_first,
                               {{1, 1}, interrupt});
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE(tensor.is_all(std::byte{9}));
  });
}

}  // namespace
}  // namespace hvd::collective
