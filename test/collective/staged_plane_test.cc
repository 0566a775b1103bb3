// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/staged_plane.h"

#include <gtest/gtest.h>

#include "test/collective/conformance_suite.h"
#include "test/collective/gpu_fleet.h"

namespace hvd::collective {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(StagedOfThreads, PlaneConformance,
                               StagedOfThreads);

}  // namespace
}  // namespace hvd::collective
