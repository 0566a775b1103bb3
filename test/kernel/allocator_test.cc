// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "horovodpp/autograd.h"
#include "test/support/fork.h"

namespace hvd::autograd {
namespace {

// More than a thread keeps for itself.
constexpr std::int64_t kLarge = 1 << 20;

TEST(Allocator, ServesTheChildOfAForkWhileOthersAllocate) {
  if (!kForkedMallocWorks) GTEST_SKIP() << kForkedMallocMayHang;
  std::atomic<bool> done{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 2; ++i) {
    others.emplace_back([&] {
      while (!done) empty({kLarge});
    });
  }
  int failures = 0;
  for (int i = 0; i < 200; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);  // A child that waits for a lock for good ends by this.
      ::_exit(empty({kLarge}).num_elements() == kLarge ? 0 : 1);
    }
    int status = -1;
    if (::waitpid(child, &status, 0) != child || status != 0) {
      ++failures;
      break;
    }
  }
  done = true;
  for (std::thread& other : others) other.join();
  EXPECT_EQ(failures, 0);
}

// The flags of the mapping that holds an address.
std::string flags_of_mapping(std::uintptr_t address) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    if (words >> std::hex >> begin >> dash >> end && dash == '-') {
      inside = begin <= address && address < end;
    } else if (inside && line.starts_with("VmFlags:")) {
      return line;
    }
  }
  return "";
}

TEST(Allocator, AsksForHugePagesForLargeBlocks) {
  if (::access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) != 0) {
    GTEST_SKIP() << "this kernel has no transparent huge pages";
  }
  const Tensor large = empty({8 * kLarge});
  const auto middle =
      reinterpret_cast<std::uintptr_t>(large.data<float>() + 4 * kLarge);
  EXPECT_THAT(flags_of_mapping(middle), testing::HasSubstr(" hg"));
}

}  // namespace
}  // namespace hvd::autograd
