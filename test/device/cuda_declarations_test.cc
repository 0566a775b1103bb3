// SPDX-License-Identifier: Apache-2.0
// Compares our declarations of CUDA's driver with its header.
#include <gtest/gtest.h>

#include <cstddef>

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
  EXPECT_EQ(kCuPeerAccessAlreadyEnabled,
            CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_EQ(kCuEventInterprocess, unsigned{CU_EVENT_INTERPROCESS});
  EXPECT_EQ(kCuMemHostRegisterPortable, unsigned{CU_MEMHOSTREGISTER_PORTABLE});
  EXPECT_EQ(kCuIpcLazyPeerAccess, unsigned{CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS});
  EXPECT_EQ(kCuPoolReleaseThreshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
  EXPECT_EQ(kCuPinnedAllocation, CU_MEM_ALLOCATION_TYPE_PINNED);
  EXPECT_EQ(kCuLocationDevice, CU_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(kCuEventDisableTiming, unsigned{CU_EVENT_DISABLE_TIMING});
  EXPECT_EQ(kCuStreamNonBlocking, unsigned{CU_STREAM_NON_BLOCKING});
  EXPECT_EQ(kCuMemHostAllocPortable, unsigned{CU_MEMHOSTALLOC_PORTABLE});
  EXPECT_EQ(kCuOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(kCuCaptureImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(kCuPointerMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
  EXPECT_EQ(kCuMemoryOfHost, unsigned{CU_MEMORYTYPE_HOST});
  EXPECT_EQ(kCuMemoryOfDevice, unsigned{CU_MEMORYTYPE_DEVICE});
  EXPECT_EQ(kCuPointerDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
  EXPECT_EQ(kCuRegistersOfFunction, CU_FUNC_ATTRIBUTE_NUM_REGS);
}

TEST(CudaDeclarations, LayOutThePropertiesOfAPoolAsTheHeaderDoes) {
  static_assert(sizeof(CuPoolProperties) == sizeof(CUmemPoolProps));
#define HVD_COMPARE(ours, theirs) \
  EXPECT_EQ(offsetof(CuPoolProperties, ours), offsetof(CUmemPoolProps, theirs))
  HVD_COMPARE(allocation_type, allocType);
  HVD_COMPARE(handle_types, handleTypes);
  HVD_COMPARE(location_type, location);
  HVD_COMPARE(location_id, location.id);
  HVD_COMPARE(security_attributes, win32SecurityAttributes);
  HVD_COMPARE(max_size, maxSize);
  HVD_COMPARE(usage, usage);
#undef HVD_COMPARE
  // Later headers add fields before it, for which zero means the old behavior.
  EXPECT_LE(offsetof(CuPoolProperties, reserved),
            offsetof(CUmemPoolProps, reserved));
}

}  // namespace
}  // namespace hvd::device

#else

TEST(CudaDeclarations, AreThoseOfTheDriversHeader) {
  GTEST_SKIP() << "needs cuda.h, of the CUDA toolkit";
}

#endif
