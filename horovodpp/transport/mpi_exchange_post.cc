// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/mpi_exchange_post.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::transport {
absl::Status MpiExchangePost::send(int to, std::string bytes) {
  return mailbox_.send(to, std::move(bytes));
}

absl::StatusOr<std::optional<Mail>> MpiExchangePost::receive() {
  // Asked first, so that what came before a death counts.
  const std::string loss = this->loss();
  HVD_ASSIGN_OR_RETURN(std::optional<Mail> mail, mailbox_.receive());
  if (mail.has_value() || loss.empty()) return mail;
  // It may have said whose fault that is.
  if (++polls_after_loss_ <= kPollsForLastWords) return std::nullopt;
  return absl::AbortedError(loss);
}

absl::StatusOr<bool> MpiExchangePost::flushed() {
  HVD_ASSIGN_OR_RETURN(const bool flushed, mailbox_.flushed());
  if (flushed) return true;
  const std::string loss = this->loss();
  if (!loss.empty()) return absl::AbortedError(loss);
  return false;
}

void MpiExchangePost::lost(int rank, const std::string& how) {
  MutexLock lock(mutex_);
  if (loss_.empty()) loss_ = absl::StrCat(name_of(rank), " ", how);
}

std::string MpiExchangePost::loss() {
  MutexLock lock(mutex_);
  return loss_;
}

std::string MpiExchangePost::name_of(int rank) const {
  return peers_[static_cast<std::size_t>(rank)].to_string(rank);
}

}  // namespace hvd::transport
