// SPDX-License-Identifier: Apache-2.0
// The contracts of planes, as tests over a Fleet (see fleets.h). The tests are
// in conformance_suite.cc and set_suite.cc; a plane's test instantiates them:
//
//   INSTANTIATE_TEST_SUITE_P(Ring, PlaneConformance, of_fleet<RingOfThreads>());
#pragma once

#include <gtest/gtest.h>

#include "test/collective/fleets.h"

namespace hvd::collective {

using RunFleet = void (*)(const Body&);

template <typename Fleet>
auto of_fleet() {
  return ::testing::Values(
      RunFleet([](const Body& body) { Fleet().run(body); }));
}

// The contract of every plane.
class PlaneConformance : public ::testing::TestWithParam<RunFleet> {};

// The contract of planes that share a medium, and of abandoned calls.
class SetConformance : public ::testing::TestWithParam<RunFleet> {};

}  // namespace hvd::collective
