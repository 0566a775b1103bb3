// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/adasum_plane.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "test/collective/adasum_reference.h"
#include "test/collective/mpi_fleets.h"
#include "test/collective/shm/adasum_fleet.h"

namespace hvd::collective {
namespace {

TEST(AdasumPlaneOverMpi, FollowsTheFormula) {
  const auto communicator = transport::make_mpi_communicator({});
  ASSERT_TRUE(communicator.ok()) << communicator.status();
  const int ranks = (*communicator)->size();
  std::vector<int> members(static_cast<std::size_t>(ranks));
  std::iota(members.begin(), members.end(), 0);
  NeverInterrupt interrupt;
  // Above the epochs of the other tests in this program.
  std::uint32_t epoch = 15'000;
  for (const AdasumOptions& options :
       {AdasumOptions{}, AdasumOptions{.ring = kSmallRing}}) {
    AdasumPlane plane(**communicator, members, test_waiting(ranks), options);
    Member member = {plane, (*communicator)->rank(), ranks, 1, interrupt, {}};
    member.epoch = epoch++;
    for (const DType dtype : kFloatingTypes) {
      for (const bool in_place : {false, true}) {
        ASSERT_TRUE(adasum_conforms(
            member,
            {dtype, {0, 1, 3, 1000, 20'000}, mixed_value, in_place, 0.5, 3}));
      }
    }
  }
}

TEST(ShmAdasumPlaneOverMpi, FollowsTheFormula) {
  const auto communicator = transport::make_mpi_communicator({});
  ASSERT_TRUE(communicator.ok()) << communicator.status();
  const auto body = [](Member& member) {
    for (const DType dtype : kFloatingTypes) {
      for (const bool in_place : {false, true}) {
        ASSERT_TRUE(adasum_conforms(
            member,
            {dtype, {0, 1, 3, 1000, 20'000}, mixed_value, in_place, 0.5, 3}));
        ASSERT_TRUE(adasum_conforms(member, {dtype, {7}, mixed_value}));
      }
    }
  };
  for (const ShmOptions& shm : {ShmOptions{}, kSmallShm}) {
    run_on_shm_adasum(**communicator, 1, body, {.shm = shm});
  }
}

}  // namespace
}  // namespace hvd::collective
