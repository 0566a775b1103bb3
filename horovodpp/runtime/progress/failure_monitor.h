// SPDX-License-Identifier: Apache-2.0
// A FailureMonitor is one rank's view of whether its job is sound or broken,
// and why; the reason is the same on every rank. The first rank that finds a
// fault tells its node through the failure record. Between nodes the news
// travels as mail.
//
// Planes wait under its interrupt. report() and peer_lost() come from any
// thread, check() from the thread that drives the runtime.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "horovodpp/core/job/suspects.h"
#include "horovodpp/core/job/topology.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/transport/node/segment.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::runtime {

class FailureMonitor : public transport::Interrupt {
 public:
  // `early_leave` is shared by the ranks of the node.
  FailureMonitor(const Topology& topology,
                 const transport::NodeSegment& segment,
                 transport::FailureRecord& early_leave, std::uint32_t epoch)
      : topology_(topology),
        segment_(segment),
        early_leave_(early_leave),
        epoch_(epoch) {}

  // Breaks the job with this reason, unless an earlier reason exists.
  // `suspects` are as in core/job/suspects.h.
  void report(const std::string& why, const std::vector<int>& suspects = {},
              FailureKind kind = FailureKind::kOther);

  // Records that another rank left the job early, as `why` says, and so made
  // this rank's submissions fail. That does not break the job. But if this rank
  // ends now, its peers blame the rank that left.
  void peer_left_early(const std::string& why);

  // Breaks the job from this rank. The reason is `why`, or the early leave of
  // another rank if there was one.
  void give_up(const std::string& why);

  // Records the death of rank `rank`, or that this rank has lost its
  // descriptors. Two kinds of death may have an
  // explanation that is still on its way. While this rank is leaving, the peer
  // may have left already. A rank of another node may have ended because of a
  // third rank. These deaths count as a fault only if no explanation arrives
  // soon.
  void peer_lost(int rank, const std::string& how);
  // Records that other ranks go on without rank `rank`, and are about to say
  // why.
  void left_behind(int rank, const std::string& how,
                   const std::vector<int>& suspects = {});
  // Records that the node whose first rank is `rank` is silent.
  void node_lost(int rank);

  // From now on this rank is about to leave.
  void leaving() { leaving_.store(true); }

  // Sets a function that is also called during waits, so that this rank takes
  // part in the agreement while it waits in a plane. Its error ends the wait.
  // `due` returns when to call it without a ring.
  using Due =
      std::function<std::optional<std::chrono::steady_clock::time_point>()>;
  void set_poll(std::function<absl::Status()> poll, Due due) {
    poll_ = std::move(poll);
    poll_due_ = std::move(due);
  }

  // The interrupt of planes: OK, Aborted with the reason, or the error of
  // `poll`.
  absl::Status check() override;

  // OK, or Aborted with the reason; includes a death that has become a fault.
  absl::Status judge() {
    if (!segment_.failure_record().raised() && !loss_pending_.load()) {
      return absl::OkStatus();
    }
    return judge_losses();
  }

  // The current reason, without polling for news.
  absl::Status verdict() const;

  std::optional<std::chrono::steady_clock::time_point> verdict_due()
      const override;
  // When a peer's unexplained death becomes a fault.
  std::optional<std::chrono::steady_clock::time_point> loss_due() const {
    if (!loss_pending_.load()) return std::nullopt;
    return pending_due();
  }

 private:
  struct Loss {
    std::string why{};
    std::vector<int> suspects{};
    FailureKind kind = FailureKind::kOther;
  };
  std::optional<std::chrono::steady_clock::time_point> pending_due() const;
  absl::Status judge_losses();
  // `loss.why` says how rank `rank` was lost.
  void lost(int rank, Loss loss, bool may_be_explained);

  const Topology& topology_;
  const transport::NodeSegment& segment_;
  transport::FailureRecord& early_leave_;
  const std::uint32_t epoch_;
  std::function<absl::Status()> poll_;
  Due poll_due_;
  std::atomic<bool> leaving_{false};
  std::atomic<bool> loss_pending_{false};
  mutable Mutex mutex_;
  std::string early_leave_cause_ ABSL_GUARDED_BY(mutex_);
  std::optional<Loss> loss_ ABSL_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point loss_due_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::runtime
