// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/cuda_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "horovodpp/device/cuda_memory.h"
#include "test/support/test_gpus.h"

namespace hvd::device {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CudaDrivers : public ::testing::Test {
 protected:
  void SetUp() override { HVD_NEEDS_STAND_INS(); }
};

// Sets an environment variable during its lifetime.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) {
    setenv(name, value, 1);
  }
  ~Setting() { unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* const name_;
};

TEST_F(CudaDrivers, KnowsTheGpusAndTheirNames) {
  const auto cuda = CudaDriver::load(testing::FakeCuda::file());
  ASSERT_TRUE(cuda.ok()) << cuda.status();
  EXPECT_EQ((*cuda)->devices(), 4);
  EXPECT_EQ((*cuda)->version(), 13000);
  EXPECT_EQ((*cuda)->name_of(1).value(), "Fake GPU 1");
}

TEST_F(CudaDrivers, NameTheMissingFileAndItsSource) {
  const auto cuda = CudaDriver::load("libno_such_driver.so.1");
  EXPECT_EQ(cuda.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(cuda.status().message()),
              AllOf(HasSubstr("libno_such_driver.so.1"),
                    HasSubstr("NVIDIA's driver brings it")));
}

TEST_F(CudaDrivers, NameTheMissingFunction) {
  const auto cuda = CudaDriver::load("libm.so.6");
  EXPECT_EQ(cuda.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(cuda.status().message()),
              HasSubstr("libm.so.6 has no cuInit"));
}

TEST_F(CudaDrivers, RefuseATooOldVersion) {
  const Setting old("FAKE_CUDA_VERSION", "11010");
  const auto cuda = CudaDriver::load(testing::FakeCuda::file());
  EXPECT_EQ(cuda.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(cuda.status().message()),
              AllOf(HasSubstr("for CUDA 11.1"), HasSubstr("at least 11.4")));
}

TEST_F(CudaDrivers, SayThatNoGpuExists) {
  testing::FakeCuda::fail_next("cuInit", kCuNoDevice);
  const auto cuda = CudaDriver::load(testing::FakeCuda::file());
  EXPECT_EQ(cuda.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(cuda.status().message()), HasSubstr("no GPU"));
}

TEST_F(CudaDrivers, RefuseAMissingGpu) {
  const auto cuda = CudaDriver::load(testing::FakeCuda::file());
  ASSERT_TRUE(cuda.ok());
  for (const int index : {-1, 4}) {
    const auto context = (*cuda)->context(index);
    EXPECT_EQ(context.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(context.status().message()),
                HasSubstr("this process sees 4"));
  }
}

TEST_F(CudaDrivers, DoesNotTakeMemoryOfTheHostForAGpus) {
  const auto cuda = CudaDriver::load(testing::FakeCuda::file());
  ASSERT_TRUE(cuda.ok());
  const int here = 0;
  EXPECT_EQ((*cuda)->device_of(&here).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// The driver reports a GPU's number for pinned host memory, too.
TEST_F(CudaDrivers, DoesNotTakePinnedMemoryOfTheHostForAGpus) {
  const auto cuda = CudaDriver::load(testing::FakeCuda::file());
  ASSERT_TRUE(cuda.ok());
  PinnedMemory pinned((*cuda)->context(0).value());
  const auto gpu = (*cuda)->device_of(pinned.at_least(64).value());
  EXPECT_EQ(gpu.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(gpu.status().message()),
              HasSubstr("pinned memory of the host"));
}

TEST_F(CudaDrivers, ReportTheDriversError) {
  const auto cuda = CudaDriver::load(testing::FakeCuda::file());
  ASSERT_TRUE(cuda.ok());
  testing::FakeCuda::fail_next("cuDevicePrimaryCtxRetain", 2);
  const auto context = (*cuda)->context(1);
  EXPECT_EQ(context.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(context.status().message()),
              AllOf(HasSubstr("GPU 1"), HasSubstr("OUT_OF_MEMORY")));
}

}  // namespace
}  // namespace hvd::device
