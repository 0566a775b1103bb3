// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/watched_post.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::transport {

absl::Status WatchedPost::send(int to, std::string bytes) {
  return post_.send(to, std::move(bytes));
}

absl::StatusOr<std::optional<Mail>> WatchedPost::receive() {
  // Check first, so that mail from before a death counts.
  const std::string loss = this->loss();
  HVD_ASSIGN_OR_RETURN(std::optional<Mail> mail, post_.receive());
  if (mail.has_value() || loss.empty()) return mail;
  // The dead rank may have sent the reason.
  if (++polls_after_loss_ <= kPollsAfterDeath) return std::nullopt;
  return absl::AbortedError(loss);
}

absl::StatusOr<bool> WatchedPost::flushed() {
  HVD_ASSIGN_OR_RETURN(const bool flushed, post_.flushed());
  if (flushed) return true;
  const std::string loss = this->loss();
  if (!loss.empty()) return absl::AbortedError(loss);
  return false;
}

absl::StatusOr<std::vector<std::string>> WatchedPost::exchange(
    const std::string& mine, std::chrono::steady_clock::time_point deadline,
    const Watch& watch) {
  const std::uint32_t round = round_++;
  if (!watch.status.ok()) {
    const Peer& self = peers()[static_cast<std::size_t>(rank())];
    return refuse_exchange(
        *this, round,
        annotate(watch.status,
                 absl::StrCat(self.to_string(rank()), " cannot run")));
  }
  if (watch.listen) {
    watch.listen([this](int rank, const std::string& how) { lost(rank, how); });
  }
  auto all = exchange_by_mail(*this, round, mine, deadline);
  if (watch.listen) watch.listen({});
  return all;
}

void WatchedPost::lost(int rank, const std::string& how) {
  MutexLock lock(mutex_);
  if (!loss_.empty()) return;
  const Peer& peer = peers()[static_cast<std::size_t>(rank)];
  loss_ = absl::StrCat(peer.to_string(rank), " ", how);
}

std::string WatchedPost::loss() {
  MutexLock lock(mutex_);
  return loss_;
}

}  // namespace hvd::transport
