// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/staged_plane.h"

#include <gtest/gtest.h>

#include "test/collective/conformance.h"
#include "test/collective/gpu_fleet.h"

namespace hvd::collective {
namespace {

INSTANTIATE_TEST_SUITE_P(StagedOfThreads, PlaneConformance,
                         of_fleet<StagedOfThreads>());

}  // namespace
}  // namespace hvd::collective
