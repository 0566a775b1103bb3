// SPDX-License-Identifier: Apache-2.0
// The GPUs of suites that run unchanged on fake and on real GPUs. The default
// is the fakes. With HOROVODPP_TEST_ON_GPUS=1, suites use the machine's GPUs
// through its driver and NCCL (or the files that HOROVODPP_CUDA_LIBRARY and
// HOROVODPP_NCCL_LIBRARY name).
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>

#include "horovodpp/device/gpus.h"
#include "horovodpp/runtime/settings/config.h"
#include "test/support/fake_cuda/fake_cuda.h"
#include "test/support/fake_nccl/fake_nccl.h"
#include "test/support/real_gpus.h"

// For the start of a test that makes the fakes do something that no GPU does,
// or that inspects them.
#define HVD_NEEDS_STAND_INS()                                   \
  if (::hvd::testing::gpus_are_real()) {                        \
    GTEST_SKIP() << "needs fake GPUs: no real GPU can do this"; \
  }                                                             \
  static_assert(true)

// For a test that needs more GPUs than a machine may have.
#define HVD_NEEDS_GPUS(n)                                           \
  if (::hvd::testing::TestGpus::count() < (n)) {                    \
    GTEST_SKIP() << "takes " << (n) << " GPUs, of which there are " \
                 << ::hvd::testing::TestGpus::count();              \
  }                                                                 \
  static_assert(true)

namespace hvd::testing {

class TestGpus {
 public:
  static std::string cuda_library() {
    return gpus_are_real() ? of_machine().cuda_library : FakeCuda::file();
  }
  static std::string nccl_library() {
    return gpus_are_real() ? of_machine().nccl_library : FakeNccl::file();
  }
  // Whether NCCL is told that ranks may share a GPU.
  static bool share_ranks() { return of_machine().nccl_shares_gpus; }
  static int count() {
    static const int devices =
        device::CudaDriver::load(cuda_library()).value()->devices();
    return devices;
  }

  // The maximum delay of the fake streams and of the fake NCCL, in
  // microseconds. Has no effect on real ones.
  static void set_delay(unsigned microseconds) {
    if (!gpus_are_real()) FakeCuda::set_delay(microseconds);
  }
  static void set_nccl_delay(unsigned microseconds) {
    if (!gpus_are_real()) FakeNccl::set_delay(microseconds);
  }
  // Whether all released memory is freed, as when no stream hangs. Until then
  // it counts among the objects, as do events kept for reuse.
  static bool settle(device::CudaDriver& cuda) {
    return cuda.settle(std::chrono::steady_clock::now() +
                       std::chrono::seconds(20));
  }

  // Counts that real GPUs do not report: the driver's objects, NCCL's remaining
  // objects, kernel launches, and allocations freed while others had them open.
  static std::size_t objects() {
    return gpus_are_real() ? 0 : FakeCuda::objects();
  }
  static void expect_no_objects_of_nccl() {
    if (gpus_are_real()) return;
    EXPECT_EQ(FakeNccl::objects(), 0);
  }
  static std::size_t launches() {
    return gpus_are_real() ? 0 : FakeCuda::launches();
  }
  static void expect_launches_since(
      std::size_t before, const ::testing::Matcher<std::size_t>& made) {
    if (gpus_are_real()) return;
    EXPECT_THAT(FakeCuda::launches() - before, made);
  }
  static std::size_t freed_too_early() {
    return gpus_are_real() ? 0 : FakeCuda::freed_too_early();
  }

 private:
  static const Config& of_machine() {
    static const Config config = Config::from_env().value();
    return config;
  }
};

}  // namespace hvd::testing
