// SPDX-License-Identifier: Apache-2.0
#include "test/collective/conformance_suite.h"
#include "test/collective/mpi_fleets.h"
#include "test/collective/set_suite.h"

namespace hvd::collective {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(ShmOfProcesses, PlaneConformance,
                               ShmOfProcesses<0>);
INSTANTIATE_TYPED_TEST_SUITE_P(ShmOfProcesses, SetConformance,
                               ShmOfProcesses<0>);
INSTANTIATE_TYPED_TEST_SUITE_P(ShmOfTwoNodes, PlaneConformance,
                               ShmOfProcesses<2>);
INSTANTIATE_TYPED_TEST_SUITE_P(ShmOfTwoNodes, SetConformance,
                               ShmOfProcesses<2>);

using Kind = Placement::Kind;
using InArenas = ArenasOfProcesses<Kind::kArena, false, 0>;
using PartlyInArenas = ArenasOfProcesses<Kind::kMixed, false, 2>;
using InReadOnlyArenas = ArenasOfProcesses<Kind::kMixed, true, 0>;
INSTANTIATE_TYPED_TEST_SUITE_P(InArenas, PlaneConformance, InArenas);
INSTANTIATE_TYPED_TEST_SUITE_P(InArenas, SetConformance, InArenas);
INSTANTIATE_TYPED_TEST_SUITE_P(PartlyInArenas, PlaneConformance,
                               PartlyInArenas);
INSTANTIATE_TYPED_TEST_SUITE_P(InReadOnlyArenas, PlaneConformance,
                               InReadOnlyArenas);

}  // namespace
}  // namespace hvd::collective
