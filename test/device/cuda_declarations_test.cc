// SPDX-License-Identifier: Apache-2.0
// Compares our declarations of CUDA's driver with those of its header.
#include <gtest/gtest.h>

#include "horovodpp/device/cuda_api.h"
#include "test/support/declared_alike.h"

#if __has_include(<cuda.h>)
#include <cuda.h>

namespace hvd::device {
namespace {

TEST(CudaDeclarations, AreThoseOfTheDriversHeader) {
#define HVD_COMPARE(name, ...)                                                \
  static_assert(                                                              \
      testing::DeclaredAlike<CuResult(__VA_ARGS__), decltype(::name)>::value, \
      "declare " #name " as cuda.h does");
  HVD_CUDA_FUNCTIONS(HVD_COMPARE)
#undef HVD_COMPARE
  static_assert(sizeof(CuUuid) == sizeof(CUuuid));
  EXPECT_EQ(kCuSuccess, CUDA_SUCCESS);
  EXPECT_EQ(kCuNoDevice, CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(kCuNotReady, CUDA_ERROR_NOT_READY);
  EXPECT_EQ(kCuEventDisableTiming, unsigned{CU_EVENT_DISABLE_TIMING});
  EXPECT_EQ(kCuStreamNonBlocking, unsigned{CU_STREAM_NON_BLOCKING});
  EXPECT_EQ(kCuMemHostAllocPortable, unsigned{CU_MEMHOSTALLOC_PORTABLE});
  EXPECT_EQ(kCuPointerDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
}

}  // namespace
}  // namespace hvd::device

#else

TEST(CudaDeclarations, AreThoseOfTheDriversHeader) {
  GTEST_SKIP() << "needs cuda.h, of the CUDA toolkit";
}

#endif
