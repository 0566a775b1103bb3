// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/nccl/plane.h"

#include <gtest/gtest.h>

#include "test/collective/conformance_suite.h"
#include "test/collective/nccl/fleet.h"

namespace hvd::collective {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(NcclOfThreads, PlaneConformance, NcclOfThreads);

}  // namespace
}  // namespace hvd::collective
