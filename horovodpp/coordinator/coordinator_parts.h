// SPDX-License-Identifier: Apache-2.0
// The parts of a Coordinator that only leaders of nodes, or only the root,
// have.
#pragma once

#include <deque>
#include <vector>

#include "horovodpp/coordinator/protocol/message.h"
#include "horovodpp/coordinator/root/root_scheduler.h"
#include "horovodpp/coordinator/root/stall_inspector.h"
#include "horovodpp/coordinator/subtree.h"

namespace hvd::coordinator {

struct LeaderPart {
  Subtree subtree;
  StallGatherer stall_gatherer;
  // Schedule records that are not yet on the board.
  std::deque<std::vector<Record>> unwritten = {};
};

struct RootPart {
  RootScheduler scheduler;
  StallInspector stall_inspector;
  bool has_announced_closed = false;
  std::vector<Report> reports = {};  // Since take_reports().

  bool has_work() const {
    return scheduler.has_work() ||
           (scheduler.finished() && !has_announced_closed);
  }
};

}  // namespace hvd::coordinator
