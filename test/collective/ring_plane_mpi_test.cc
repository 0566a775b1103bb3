#include "test/collective/conformance_suite.h"
#include "test/collective/mpi_fleets.h"

namespace hvd::collective {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(RingOfProcesses, PlaneConformance,
                               RingOfProcesses<0>);
INSTANTIATE_TYPED_TEST_SUITE_P(RingOfNodes, PlaneConformance,
                               RingOfProcesses<1>);

}  // namespace
}  // namespace hvd::collective
