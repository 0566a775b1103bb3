// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/failure/silence.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/coordinator/root/stall_inspector.h"

namespace hvd::coordinator {
namespace {

// Timeout for silence. Generous: no work keeps a rank from its mail that long.
// If the stall limit is shorter than twice the timeout, the timeout is half the
// limit.
constexpr Clock::Duration kSilenceTimeout = std::chrono::seconds(5);
constexpr Clock::Duration kMinSilenceTimeout = std::chrono::seconds(1);
constexpr Clock::Duration kSilenceTimeoutPerLevel =
    std::chrono::milliseconds(500);

// A call later than this means that this rank itself was not running.
constexpr Clock::Duration kLate = std::chrono::seconds(1);

}  // namespace

Silence::Silence(const Tree& tree, int rank, Clock::Duration interval,
                 Clock::Duration shutdown)
    : interval_(interval), shutdown_(shutdown) {
  int node = tree.node_of(rank);
  int level = 0;
  if (tree.leader_of(node) != rank) {
    above_ = tree.leader_of(node);
    ++level;
  } else if (tree.parent(node) != Tree::kNone) {
    above_ = tree.leader_of(tree.parent(node));
  }
  for (; tree.parent(node) != Tree::kNone; node = tree.parent(node)) ++level;
  behind_ = level * kSilenceTimeoutPerLevel;
  timeout_ = kSilenceTimeout;
  if (shutdown.count() > 0) {
    timeout_ = std::clamp(shutdown / 2, kMinSilenceTimeout, kSilenceTimeout);
  }
  timeout_ += behind_;
}

void Silence::reported(const Stalled& message, Clock::TimePoint now) {
  if (above_ == Tree::kNone) return;
  const bool is_fatal = ends_the_job(message, shutdown_);
  // The root asks about one name no more often than this, unless the job is to
  // end.
  const auto recent = is_fatal ? timeout_ : std::max(timeout_, interval_ / 2);
  if (questioned_at_ && now - *questioned_at_ < recent) return;
  // Reports about an earlier wait do not count.
  if (!silent_since_ || now - reported_at_ > 2 * interval_) silent_since_ = now;
  reported_at_ = now;
  if (open_ && open_->is_fatal >= is_fatal) return;
  open_ = {.rank = above_,
           .key = message.key,
           .waited_ms = message.waited_ms,
           .is_fatal = is_fatal};
  // Earlier reports may have waited long enough already.
  due_ = is_fatal ? std::max(*silent_since_ + timeout_, now + behind_)
                  : now + timeout_;
}

void Silence::questioned(Clock::TimePoint now) {
  questioned_at_ = now;
  silent_since_.reset();
  open_.reset();
}

std::optional<Silence::Finding> Silence::take(Clock::TimePoint now) {
  const auto due = this->due();
  if (!due || now < *due) return std::nullopt;
  if (now - *due > kLate) {
    silent_since_ = now;
    due_ = now + timeout_;
    return std::nullopt;
  }
  return std::exchange(open_, std::nullopt);
}

std::string silence_text(const Silence::Finding& finding,
                         const std::string& described,
                         const std::string& silence_cause) {
  return absl::StrCat(finding.key.to_string(), " has waited for ",
                      seconds_text(finding.waited_ms), ", and ", described,
                      ", which would find out why, ", kDoesNotAnswer,
                      silence_cause.empty() ? "" : ": ", silence_cause);
}

}  // namespace hvd::coordinator
