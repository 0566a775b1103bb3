// SPDX-License-Identifier: Apache-2.0
// A rank whose allocations fail while it drives the job.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "test/runtime/world.h"

namespace {

thread_local bool allocates = true;

}  // namespace

void* operator new(std::size_t bytes) {
  void* memory = allocates ? std::malloc(bytes == 0 ? 1 : bytes) : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
// The sorts of the standard library use this one.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocates ? std::malloc(bytes == 0 ? 1 : bytes) : nullptr;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace hvd {
namespace {

TEST(NoMemory, AWaitingThreadBreaksTheJobAndAllRanksEnd) {
  run_world({.size = 2}, [](Runtime& job, transport::LoopbackWorld&) {
    float value = 1;
    const TensorView view = TensorView::of(&value, {});
    const auto done = job.allreduce_async_(view, {.name = "x"});
    if (job.topology().rank() == 0) {
      allocates = false;
      try {
        done.wait().IgnoreError();
      } catch (const std::bad_alloc&) {
      }
      allocates = true;
    }
    const absl::Status first = done.wait();
    const absl::Status later = job.allreduce_async_(view, {.name = "y"}).wait();
    // Only the driving thread allocates, so either outcome is possible.
    if (job.topology().rank() == 0) job.abort("has seen enough");
    EXPECT_TRUE(first.ok() || absl::IsAborted(first)) << first;
    EXPECT_TRUE(later.ok() || absl::IsAborted(later)) << later;
    EXPECT_TRUE(absl::IsAborted(job.barrier_async().wait()));
    EXPECT_TRUE(absl::IsAborted(job.stop()));
  });
}

}  // namespace
}  // namespace hvd
