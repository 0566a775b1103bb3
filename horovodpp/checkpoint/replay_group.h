// SPDX-License-Identifier: Apache-2.0
// Several backward calls that share what checkpointed functions compute again.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/intrusive_ptr.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class Replay;

// The replays that several backward calls on this thread share while it lives,
// so that a region that more than one of them reaches is run again once:
//
//   hvd::autograd::ReplayGroup group;
//   auto dy = hvd::autograd::grad({z}, {y});   // z → y and y → x are parts of
//   auto dx = hvd::autograd::grad({y}, {x}, dy);   // one region
//
// The calls must come one after the other, and each saved tensor be needed by
// one of them only.
class ReplayGroup {
 public:
  //   CheckpointError  there is one already
  ReplayGroup();
  ~ReplayGroup();
  ReplayGroup(const ReplayGroup&) = delete;
  ReplayGroup& operator=(const ReplayGroup&) = delete;

  // --- For regions ---
  // The group in force on this thread; null if there is none.
  static ReplayGroup* current();
  // Where the replay of the region of this mark is; null at first.
  //   CheckpointError  another backward call that uses the group has not ended
  Ref<Replay>& replay_of(std::uint64_t region);

 private:
  void check_alone();

  std::vector<std::pair<std::uint64_t, Ref<Replay>>> replays_;
  std::weak_ptr<void> user_;  // Lives as long as the backward that came last.
};

}  // namespace autograd
}  // namespace hvd
