// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/replay_group.h"

#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/autograd/graph_task.h"
#include "horovodpp/checkpoint/replay.h"
#include "horovodpp/tensor/base/thread_state.h"

namespace hvd::autograd {

ReplayGroup::ReplayGroup() {
  if (graph_state.replay_group != nullptr) {
    throw CheckpointError(
        "ReplayGroup: there is one on this thread already; "
        "groups do not nest");
  }
  graph_state.replay_group = this;
}

ReplayGroup::~ReplayGroup() { graph_state.replay_group = nullptr; }

ReplayGroup* ReplayGroup::current() { return graph_state.replay_group; }

// Each backward holds a token while it runs.
void ReplayGroup::check_alone() {
  GraphTask* task = graph_state.graph_task;
  if (task == nullptr) return;
  std::shared_ptr<void>& token = task->local(this);
  const std::shared_ptr<void> before = user_.lock();
  if (before != nullptr && before != token) {
    throw CheckpointError(
        "ReplayGroup: a backward within a backward uses the same group; let "
        "the calls of a group come one after the other");
  }
  if (token == nullptr) token = std::make_shared<char>();
  user_ = token;
}

Ref<Replay>& ReplayGroup::replay_of(std::uint64_t region) {
  check_alone();
  for (auto& [mark, replay] : replays_) {
    if (mark == region) return replay;
  }
  return replays_.emplace_back(region, nullptr).second;
}

}  // namespace hvd::autograd
