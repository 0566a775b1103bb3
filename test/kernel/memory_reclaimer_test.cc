// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/memory_reclaimer.h"

#include <gtest/gtest.h>

#include <vector>

#include "horovodpp/kernel/allocator.h"

namespace hvd::autograd {
namespace {

constexpr std::size_t kBytes = 4096;

// Has a block to free.
class Reserve final : public MemoryReclaimer {
 public:
  explicit Reserve(Allocator& allocator) : allocator_(allocator) {}
  ~Reserve() { free(); }
  void reclaim(std::size_t bytes) override {
    asked.push_back(bytes);
    free();
  }
  std::vector<std::size_t> asked;

 private:
  void free() {
    allocator_.deallocate(block_, kBytes);
    block_ = nullptr;
  }
  Allocator& allocator_;
  void* block_ = allocator_.allocate(kBytes);
};

TEST(MemoryReclaimer, IsCalledBeforeItsLimitIsExceeded) {
  Allocator& allocator = cpu_allocator();
  const std::int64_t before = allocator.stats().current_bytes;
  auto reserve = std::make_shared<Reserve>(allocator);
  add_reclaimer(allocator, before + 2 * std::int64_t{kBytes}, reserve);
  void* second = allocator.allocate(kBytes);
  EXPECT_TRUE(reserve->asked.empty());
  allocator.reset_peak();
  void* third = allocator.allocate(kBytes);
  EXPECT_EQ(reserve->asked, std::vector<std::size_t>{kBytes});
  EXPECT_EQ(allocator.stats().peak_bytes, before + 2 * std::int64_t{kBytes});
  // An empty reclaimer does not block allocations. Small blocks, and blocks of
  // another allocator, do not call the reclaimer.
  void* fourth = allocator.allocate(kBytes);
  EXPECT_EQ(reserve->asked.size(), 2u);
  allocator.deallocate(allocator.allocate(kMaxSmallBlock), kMaxSmallBlock);
  host_allocator().deallocate(host_allocator().allocate(kBytes), kBytes);
  EXPECT_EQ(reserve->asked.size(), 2u);
  // A destroyed reclaimer is not asked.
  reserve = nullptr;
  void* fifth = allocator.allocate(kBytes);
  for (void* block : {second, third, fourth, fifth}) {
    allocator.deallocate(block, kBytes);
  }
  EXPECT_EQ(allocator.stats().current_bytes, before);
}

}  // namespace
}  // namespace hvd::autograd
