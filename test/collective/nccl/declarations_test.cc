// SPDX-License-Identifier: Apache-2.0
// Compares our declarations of NCCL with its header.
#include <gtest/gtest.h>

#include <cstddef>

#include "horovodpp/collective/nccl/api.h"
#include "test/support/declared_alike.h"

#if __has_include(<nccl.h>) && __has_include(<cuda_runtime.h>)
#include <nccl.h>

namespace hvd::collective {
namespace {

TEST(NcclDeclarations, AreThoseOfItsHeader) {
#define HVD_COMPARE(name, result, ...)                                      \
  static_assert(                                                            \
      testing::DeclaredAlike<result(__VA_ARGS__), decltype(::name)>::value, \
      "declare " #name " as nccl.h does");
  HVD_NCCL_FUNCTIONS(HVD_COMPARE)
#undef HVD_COMPARE
#define HVD_COMPARE_LATER(since, name, result, ...)                         \
  static_assert(                                                            \
      testing::DeclaredAlike<result(__VA_ARGS__), decltype(::name)>::value, \
      "declare " #name " as nccl.h does");
  HVD_NCCL_LATER_FUNCTIONS(HVD_COMPARE_LATER)
#undef HVD_COMPARE_LATER
  static_assert(sizeof(NcclUniqueId) == sizeof(ncclUniqueId));
  static_assert(sizeof(NcclConfig) <= sizeof(ncclConfig_t));
  static_assert(offsetof(NcclConfig, magic) == offsetof(ncclConfig_t, magic));
  static_assert(offsetof(NcclConfig, version) ==
                offsetof(ncclConfig_t, version));
  static_assert(offsetof(NcclConfig, blocking) ==
                offsetof(ncclConfig_t, blocking));
  static_assert(offsetof(NcclConfig, cga_cluster_size) ==
                offsetof(ncclConfig_t, cgaClusterSize));
  EXPECT_EQ(kNcclMagic, NCCL_API_MAGIC);
  EXPECT_EQ(kNcclWithoutBlocking.cga_cluster_size, NCCL_CONFIG_UNDEF_INT);
  EXPECT_EQ(kNcclSuccess, ncclSuccess);
  EXPECT_EQ(kNcclSystemError, ncclSystemError);
  EXPECT_EQ(kNcclInvalidArgument, ncclInvalidArgument);
  EXPECT_EQ(kNcclInvalidUsage, ncclInvalidUsage);
  EXPECT_EQ(kNcclRemoteError, ncclRemoteError);
  EXPECT_EQ(kNcclInProgress, ncclInProgress);
  EXPECT_EQ(kNcclSum, ncclSum);
  EXPECT_EQ(kNcclProd, ncclProd);
  EXPECT_EQ(kNcclMax, ncclMax);
  EXPECT_EQ(kNcclMin, ncclMin);
  EXPECT_EQ(kNcclInt8, ncclInt8);
  EXPECT_EQ(kNcclUint8, ncclUint8);
  EXPECT_EQ(kNcclInt32, ncclInt32);
  EXPECT_EQ(kNcclInt64, ncclInt64);
  EXPECT_EQ(kNcclFloat16, ncclFloat16);
  EXPECT_EQ(kNcclFloat32, ncclFloat32);
  EXPECT_EQ(kNcclFloat64, ncclFloat64);
  EXPECT_EQ(kNcclBfloat16, ncclBfloat16);
  EXPECT_EQ(kNcclScalarHostImmediate, ncclScalarHostImmediate);
  EXPECT_EQ(kNcclWindowSymmetric, NCCL_WIN_COLL_SYMMETRIC);
}

}  // namespace
}  // namespace hvd::collective

#else

TEST(NcclDeclarations, AreThoseOfItsHeader) {
  GTEST_SKIP() << "needs nccl.h, of PyPI's nvidia-nccl-cu13 "
                  "(-DHVD_NCCL_INCLUDE_DIR=...), and CUDA's headers";
}

#endif
