// SPDX-License-Identifier: Apache-2.0
// A FailureMonitor is one rank's view of whether its job is sound or broken, and
// if so for which reason, which is the same on every rank. Whoever finds a fault first tells the others on
// its node through the break word; between nodes the news travel as mail.
//
// Planes wait under its interrupt. report() and peer_lost() come from any thread,
// check() from the thread that drives the runtime.
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
#include "horovodpp/core/mutex.h"
#include "horovodpp/core/topology.h"
#include "horovodpp/transport/node_segment.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::runtime {

class FailureMonitor : public transport::Interrupt {
 public:
  // `hindrance` is shared by the ranks of the node.
  FailureMonitor(const Topology& topology,
                 const transport::NodeSegment& segment,
                 transport::BreakWord& hindrance, std::uint32_t epoch)
      : topology_(topology),
        segment_(segment),
        hindrance_(hindrance),
        epoch_(epoch) {}

  // The job is broken, for this reason unless another one was first. `suspects`
  // are as in core/suspects.h.
  void report(const std::string& why, const std::vector<int>& suspects = {});

  // What this rank has submitted fails because another one left the job early,
  // as `why` says. The job is not broken by that. But if this rank ends now,
  // then for that reason, and its peers blame the rank that left.
  void hindered(const std::string& why);

  // This rank breaks the job: for the reason `why`, unless it was hindered.
  void give_up(const std::string& why);

  // Rank `rank` has died. While this rank is leaving that may be a peer that has
  // left already, and a rank of another node may have ended because of one of which
  // its node is about to tell: either counts as a fault only if nothing comes of it
  // soon.
  void peer_lost(int rank, const std::string& how);
  // Others go on without rank `rank`, and are about to say why.
  void left_behind(int rank, const std::string& how,
                   const std::vector<int>& suspects = {});
  // Nothing is heard any more of the node whose first rank is `rank`.
  void node_lost(int rank);

  // From now on this rank is about to leave.
  void leaving() { leaving_.store(true); }

  // Besides, `attend` is called during waits: this rank takes part in the
  // agreement while it waits in a plane. What it returns ends the wait. `due`:
  // when it is to be called though nobody rings.
  using Due =
      std::function<std::optional<std::chrono::steady_clock::time_point>()>;
  void set_attend(std::function<absl::Status()> attend, Due due) {
    attend_ = std::move(attend);
    attend_due_ = std::move(due);
  }

  // The interrupt of planes: OK, Aborted with the reason, or what `attend` says.
  absl::Status check() override;

  // OK, or Aborted with the reason; a death that has become a fault by now
  // included.
  absl::Status judge() {
    if (!segment_.break_word().raised() && !loss_pending_.load()) {
      return absl::OkStatus();
    }
    return judge_losses();
  }

  // The reason as it stands, without looking for news.
  absl::Status verdict() const;

  std::optional<std::chrono::steady_clock::time_point> verdict_due()
      const override;
  // When a peer's death that is no fault yet becomes one.
  std::optional<std::chrono::steady_clock::time_point> loss_due() const {
    if (!loss_pending_.load()) return std::nullopt;
    return pending_due();
  }

 private:
  struct Loss {
    std::string why{};
    std::vector<int> suspects{};
  };
  std::optional<std::chrono::steady_clock::time_point> pending_due() const;
  absl::Status judge_losses();
  void lost(int rank, const std::string& how, const std::vector<int>& suspects,
            bool may_be_explained);

  const Topology& topology_;
  const transport::NodeSegment& segment_;
  transport::BreakWord& hindrance_;
  const std::uint32_t epoch_;
  std::function<absl::Status()> attend_;
  Due attend_due_;
  std::atomic<bool> leaving_{false};
  std::atomic<bool> loss_pending_{false};
  mutable Mutex mutex_;
  std::string hindered_by_ ABSL_GUARDED_BY(mutex_);
  std::optional<Loss> loss_ ABSL_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point loss_due_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::runtime
