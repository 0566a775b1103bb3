// SPDX-License-Identifier: Apache-2.0
// A RingTeam is one rank among the members of a plane over the wires.
#pragma once

#include <cstddef>
#include <span>

namespace hvd::collective {

struct RingTeam {
  std::span<const int> members;  // As the wires number them.
  int rank = 0;                  // This one's position.

  int ranks() const { return static_cast<int>(members.size()); }

  // The member `distance` positions further, counted around; 0 <= distance.
  int member(int distance) const {
    return members[static_cast<std::size_t>((rank + distance) % ranks())];
  }
};

}  // namespace hvd::collective
