// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "test/collective/conformance.h"
#include "test/collective/conforming_calls.h"
#include "test/collective/hierarchical/fleets.h"
#include "test/collective/mpi_fleets.h"

namespace hvd::collective {
namespace {

// Ranks are processes on pseudo-nodes: the last rank has its own node, or nodes
// alternate between ranks.
template <bool kMixed, bool kInTurn>
class NodesOfProcesses {
 public:
  void run(const Body& body) {
    const auto communicator = transport::make_mpi_communicator({});
    ASSERT_TRUE(communicator.ok()) << communicator.status();
    Seating seating;
    const int ranks = (*communicator)->size();
    for (int r = 0; r < ranks; ++r) {
      const bool apart = kInTurn ? r % 2 == 1 : r > 0 && r == ranks - 1;
      seating += apart ? 'B' : 'A';
    }
    run_on_nodes(**communicator, 1, seating, kMixed, in_later_epochs(body));
  }
};

using LastApart = NodesOfProcesses<false, false>;
using InTurn = NodesOfProcesses<true, true>;
INSTANTIATE_TEST_SUITE_P(LastApart, PlaneConformance, of_fleet<LastApart>());
INSTANTIATE_TEST_SUITE_P(LastApart, SetConformance, of_fleet<LastApart>());
INSTANTIATE_TEST_SUITE_P(InTurn, PlaneConformance, of_fleet<InTurn>());
INSTANTIATE_TEST_SUITE_P(InTurn, SetConformance, of_fleet<InTurn>());

// Messages so large that MPI does not buffer them.
TEST(HierarchicalPlaneOverMpi, MovesLargeTensorsWithTheDefaults) {
  const auto communicator = transport::make_mpi_communicator({});
  ASSERT_TRUE(communicator.ok()) << communicator.status();
  const int ranks = (*communicator)->size();
  Seating seating(static_cast<std::size_t>(ranks), 'A');
  if (ranks > 1) seating.back() = 'B';
  const Body body = [](Member& member) {
    const AllreduceCase test = {{.dtype = DType::kF32}, cut(3'000'000, true)};
    EXPECT_TRUE(allreduce_conforms(member, test));
    const std::vector<std::size_t> sizes(static_cast<std::size_t>(member.ranks),
                                         3'000'000);
    EXPECT_TRUE(allgather_conforms(member, sizes, false));
  };
  run_on_nodes(**communicator, 1, seating, false, in_later_epochs(body), {});
}

}  // namespace
}  // namespace hvd::collective
