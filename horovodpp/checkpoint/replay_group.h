// SPDX-License-Identifier: Apache-2.0
// A group of backward calls that share replays of checkpointed functions.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/intrusive_ptr.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class Replay;

// While it lives, backward calls on this thread share replays: a region that
// several calls reach runs again only once.
//
//   hvd::autograd::ReplayGroup group;
//   auto dy = hvd::autograd::grad({z}, {y});   // z → y and y → x are parts of
//   auto dx = hvd::autograd::grad({y}, {x}, dy);   // one region
//
// The calls must not overlap, and each saved tensor may be needed by only one
// call.
class ReplayGroup {
 public:
  //   CheckpointError  the thread already has a group
  ReplayGroup();
  ~ReplayGroup();
  ReplayGroup(const ReplayGroup&) = delete;
  ReplayGroup& operator=(const ReplayGroup&) = delete;

  // --- For regions ---
  // The group in force on this thread, or null.
  static ReplayGroup* current();
  // The slot for the replay of the region with this mark; null at first.
  //   CheckpointError  another backward call of the group is still running
  Ref<Replay>& replay_of(std::uint64_t region);

 private:
  void check_alone();

  std::vector<std::pair<std::uint64_t, Ref<Replay>>> replays_;
  std::weak_ptr<void> user_;  // Lives as long as the last backward.
};

}  // namespace autograd
}  // namespace hvd
