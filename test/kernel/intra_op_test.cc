// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/intra_op.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace hvd::autograd {
namespace {

TEST(BlasOnOneThread, IsUndoneAtTheEndOfTheOuterScope) {
  const auto threads = reinterpret_cast<int (*)()>(
      ::dlsym(RTLD_DEFAULT, "openblas_get_num_threads"));
  if (threads == nullptr) GTEST_SKIP() << "the BLAS is not OpenBLAS";
  const int before = threads();
  ASSERT_TRUE(set_blas_threads(2));
  {
    const BlasOnOneThread none(false);
    EXPECT_EQ(threads(), 2);
    const BlasOnOneThread outer(true);
    EXPECT_EQ(threads(), 1);
    { const BlasOnOneThread inner(true); }
    EXPECT_EQ(threads(), 1);
  }
  EXPECT_EQ(threads(), 2);
  set_blas_threads(before);
}

}  // namespace
}  // namespace hvd::autograd
