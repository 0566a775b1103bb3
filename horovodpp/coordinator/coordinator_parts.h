// SPDX-License-Identifier: Apache-2.0
// The parts of a Coordinator that only leaders of nodes, or only the root, have.
#pragma once

#include <deque>
#include <vector>

#include "horovodpp/coordinator/coordinator.h"
#include "horovodpp/coordinator/message.h"
#include "horovodpp/coordinator/process_sets.h"
#include "horovodpp/coordinator/root_scheduler.h"
#include "horovodpp/coordinator/stall_inspector.h"
#include "horovodpp/coordinator/subtree.h"

namespace hvd::coordinator {

// State that only leaders have.
struct Coordinator::LeaderPart {
  LeaderPart(const Options& options, int node, const ProcessSets& sets)
      : subtree(options.tree, node, sets),
        stall_gatherer(options.tree, node, options.remark) {}

  Subtree subtree;
  StallGatherer stall_gatherer;
  // Schedule records that are not yet on the board.
  std::deque<std::vector<Record>> unwritten = {};
};

// State that only the root has.
struct Coordinator::RootPart {
  RootPart(const Options& options, const ProcessSets& sets)
      : scheduler({.capacity = options.cache_capacity,
                   .fusion = {.threshold = options.fusion_threshold,
                              .max_batch = kMaxAppend,
                              .fuse_groups = options.fuse_groups},
                   .hold_back = options.hold_back,
                   .steps_before_schedule = options.steps_before_schedule,
                   .strict_join = options.strict_join},
                  sets),
        stall_inspector(options.stall_warning, options.stall_shutdown) {}

  RootScheduler scheduler;
  StallInspector stall_inspector;
  bool has_said_closed = false;

  bool has_work() const {
    return scheduler.has_work() || (scheduler.finished() && !has_said_closed);
  }
};

}  // namespace hvd::coordinator
