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

}  // namespace
}  // namespace hvd::collective
