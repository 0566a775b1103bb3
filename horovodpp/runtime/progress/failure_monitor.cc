// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/progress/failure_monitor.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/job/rank_status.h"
#include "horovodpp/core/job/suspects.h"

namespace hvd::runtime {
namespace {

// After a peer's death a message may explain it: all ranks have left, or
// another rank's failure ended the peer. Such a message arrives soon; this
// limit is generous.
constexpr std::chrono::milliseconds kGrace(500);

}  // namespace

void FailureMonitor::report(const std::string& why,
                            const std::vector<int>& suspects,
                            FailureKind kind) {
  segment_.failure_record().raise(epoch_, why, suspects, kind);
  segment_.ring_others();
  segment_.doorbell(segment_.local_rank()).ring();
}

void FailureMonitor::peer_left_early(const std::string& why) {
  early_leave_.raise(epoch_, why);
  MutexLock lock(mutex_);
  early_leave_cause_ = why;
}

void FailureMonitor::give_up(const std::string& why) {
  std::string early_leave;
  {
    MutexLock lock(mutex_);
    early_leave = early_leave_cause_;
  }
  report(early_leave.empty() ? why : early_leave);
}

void FailureMonitor::peer_lost(int rank, const std::string& how) {
  // This rank has closed its descriptors, and needs none to leave.
  if (rank == topology_.rank() && leaving_.load() &&
      topology_.node_count() == 1) {
    return;
  }
  const bool is_elsewhere =
      topology_.peer(rank).node != topology_.peer(topology_.rank()).node;
  lost(rank, {.why = how}, is_elsewhere || leaving_.load());
}

void FailureMonitor::left_behind(int rank, const std::string& how,
                                 const std::vector<int>& suspects) {
  lost(rank, {.why = how, .suspects = suspects}, true);
}

void FailureMonitor::node_lost(int rank) {
  std::vector<int> suspects;
  for (int other = 0; other < topology_.size(); ++other) {
    if (topology_.peer(other).node == topology_.peer(rank).node) {
      suspects.push_back(other);
    }
  }
  lost(rank,
       {.why = kNodeIsSilent,
        .suspects = suspects,
        .kind = FailureKind::kSilentNode},
       leaving_.load());
}

void FailureMonitor::lost(int rank, Loss loss, bool may_be_explained) {
  if (early_leave_.raised()) {
    loss = {.why = early_leave_.why()};
  } else {
    loss.why = absl::StrCat(topology_.describe(rank), " ", loss.why);
  }
  if (!may_be_explained) return report(loss.why, loss.suspects, loss.kind);
  {
    MutexLock lock(mutex_);
    if (loss_) return;
    loss_ = loss;
    loss_due_ = std::chrono::steady_clock::now() + kGrace;
  }
  loss_pending_.store(true);
  segment_.doorbell(segment_.local_rank()).ring();
}

absl::Status FailureMonitor::check() {
  const absl::Status judged = judge();
  if (!judged.ok() || !poll_) return judged;
  return poll_();
}

absl::Status FailureMonitor::judge_losses() {
  if (segment_.failure_record().raised()) return verdict();
  if (loss_pending_.load()) {
    std::optional<Loss> loss;
    {
      MutexLock lock(mutex_);
      if (std::chrono::steady_clock::now() >= loss_due_) loss = loss_;
    }
    if (loss) {
      report(loss->why, loss->suspects, loss->kind);
      return verdict();
    }
  }
  return absl::OkStatus();
}

std::optional<std::chrono::steady_clock::time_point>
FailureMonitor::verdict_due() const {
  const auto loss = loss_due();
  const auto poll = poll_due_ ? poll_due_() : std::nullopt;
  if (!loss || !poll) return loss ? loss : poll;
  return std::min(*loss, *poll);
}

std::optional<std::chrono::steady_clock::time_point>
FailureMonitor::pending_due() const {
  MutexLock lock(mutex_);
  return loss_due_;
}

absl::Status FailureMonitor::verdict() const {
  const transport::FailureRecord& record = segment_.failure_record();
  if (!record.raised()) return absl::OkStatus();
  return with_failure_kind(
      with_suspects(absl::AbortedError(record.why()), record.suspects()),
      record.kind());
}

}  // namespace hvd::runtime
