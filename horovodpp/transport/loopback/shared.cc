// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/loopback/shared.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::transport {
namespace {

std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

}  // namespace

LoopbackShared::LoopbackShared(std::vector<Peer> peers)
    : peers_(std::move(peers)),
      handed_out_(peers_.size()),
      deaths_(peers_.size()),
      mailboxes_(peers_.size()),
      rounds_of_rank_(peers_.size()) {}

bool LoopbackShared::hand_out(int rank) {
  MutexLock lock(mutex_);
  if (rank < 0 || rank >= size() || handed_out_[at(rank)]) return false;
  handed_out_[at(rank)] = true;
  return true;
}

absl::StatusOr<std::vector<std::string>> LoopbackShared::exchange(
    int rank, const std::string& mine, TimePoint deadline) {
  MutexLock lock(mutex_);
  const std::uint64_t number = rounds_of_rank_[at(rank)]++;
  Round& round = rounds_[number];
  round.values.resize(peers_.size());
  if (!is_dead(rank)) {
    round.values[at(rank)] = mine;
    ++round.came;
    changed_.notify_all();
  }
  while (round.came < size()) {
    HVD_RETURN_IF_ERROR(check_missing(round));
    if (!changed_.wait_until(mutex_, deadline) && round.came < size()) {
      return absl::DeadlineExceededError(
          absl::StrCat("only ", round.came, " of ", size(),
                       " ranks came in time; missing:", missing_from(round)));
    }
  }
  std::vector<std::string> all;
  for (const auto& value : round.values) all.push_back(*value);
  if (++round.left == size()) rounds_.erase(number);
  return all;
}

absl::Status LoopbackShared::check_missing(const Round& round) const {
  for (int rank = 0; rank < size(); ++rank) {
    if (round.values[at(rank)].has_value() || !is_dead(rank)) continue;
    return absl::AbortedError(absl::StrCat(peers_[at(rank)].to_string(rank),
                                           " ", *deaths_[at(rank)]));
  }
  return absl::OkStatus();
}

std::string LoopbackShared::missing_from(const Round& round) const {
  std::string missing;
  for (int rank = 0; rank < size(); ++rank) {
    if (!round.values[at(rank)].has_value()) {
      absl::StrAppend(&missing, " ", peers_[at(rank)].to_string(rank));
    }
  }
  return missing;
}

void LoopbackShared::send_mail(int from, int to, std::string bytes) {
  MutexLock lock(mutex_);
  if (is_dead(from)) return;
  mailboxes_[at(to)].push_back({.from = from, .bytes = std::move(bytes)});
}

std::optional<Mail> LoopbackShared::receive_mail(int rank) {
  MutexLock lock(mutex_);
  std::deque<Mail>& mailbox = mailboxes_[at(rank)];
  if (mailbox.empty()) return std::nullopt;
  Mail mail = std::move(mailbox.front());
  mailbox.pop_front();
  return mail;
}

TransferId LoopbackShared::post_send(int from, int to, DataTag tag,
                                     std::span<const std::byte> bytes) {
  MutexLock lock(mutex_);
  return post({.owner = from,
               .sends = true,
               .route = {from, to, tag.epoch, tag.sequence},
               .source = bytes.data(),
               .bytes = bytes.size(),
               .outcome = {}});
}

TransferId LoopbackShared::post_receive(int to, int from, DataTag tag,
                                        std::span<std::byte> bytes) {
  MutexLock lock(mutex_);
  return post({.owner = to,
               .route = {from, to, tag.epoch, tag.sequence},
               .target = bytes.data(),
               .bytes = bytes.size(),
               .outcome = {}});
}

TransferId LoopbackShared::post(Posted posted) {
  const TransferId id = next_id_++;
  const Route route = posted.route;
  const bool sends = posted.sends;
  const bool heard = !sends || !is_dead(posted.owner);
  posted_.emplace(id, std::move(posted));
  if (!heard) return id;
  Waiting& waiting = waiting_[route];
  (sends ? waiting.sends : waiting.receives).push_back(id);
  match(route);
  return id;
}

// Copies under the lock, so that no copy is running once abandon() holds it.
void LoopbackShared::match(const Route& route) {
  const auto found = waiting_.find(route);
  Waiting& waiting = found->second;
  while (!waiting.sends.empty() && !waiting.receives.empty()) {
    Posted& send = posted_.at(waiting.sends.front());
    Posted& receive = posted_.at(waiting.receives.front());
    waiting.sends.pop_front();
    waiting.receives.pop_front();
    if (send.bytes != receive.bytes) {
      receive.outcome = absl::InvalidArgumentError(absl::StrCat(
          "rank ", send.owner, " sent ", send.bytes, " bytes where rank ",
          receive.owner, " expects ", receive.bytes, " (epoch ",
          std::get<2>(route), ", sequence ", std::get<3>(route), ")"));
    } else if (send.bytes > 0) {
      std::memcpy(receive.target, send.source, send.bytes);
    }
    send.done = true;
    receive.done = true;
  }
  if (waiting.sends.empty() && waiting.receives.empty()) waiting_.erase(found);
}

absl::StatusOr<bool> LoopbackShared::test(int rank, TransferId id) {
  MutexLock lock(mutex_);
  const auto found = posted_.find(id);
  if (found == posted_.end() || found->second.owner != rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", rank, " has no transfer ", id, " posted"));
  }
  if (!found->second.done) return false;
  const absl::Status outcome = std::move(found->second.outcome);
  posted_.erase(found);
  if (!outcome.ok()) return outcome;
  return true;
}

void LoopbackShared::abandon(int rank, TransferId id) {
  MutexLock lock(mutex_);
  const auto found = posted_.find(id);
  if (found == posted_.end() || found->second.owner != rank) return;
  withdraw(id, found->second.route);
  posted_.erase(found);
}

void LoopbackShared::abandon_all(int rank) {
  MutexLock lock(mutex_);
  for (auto it = posted_.begin(); it != posted_.end();) {
    const auto current = it++;
    if (current->second.owner != rank) continue;
    withdraw(current->first, current->second.route);
    posted_.erase(current);
  }
}

void LoopbackShared::withdraw(TransferId id, const Route& route) {
  const auto found = waiting_.find(route);
  if (found == waiting_.end()) return;
  std::erase(found->second.sends, id);
  std::erase(found->second.receives, id);
  if (found->second.sends.empty() && found->second.receives.empty()) {
    waiting_.erase(found);
  }
}

void LoopbackShared::kill(int rank, const std::string& how) {
  if (rank < 0 || rank >= size()) return;
  MutexLock lock(mutex_);
  if (is_dead(rank)) return;
  deaths_[at(rank)] = how;
  for (const auto& [id, posted] : posted_) {
    if (posted.owner == rank && posted.sends) {
      withdraw(id, posted.route);
    }
  }
  changed_.notify_all();
}

std::optional<std::pair<int, std::string>> LoopbackShared::next_death(
    Watcher& watcher) {
  MutexLock lock(mutex_);
  watcher.notified.resize(peers_.size());
  while (!watcher.stopping) {
    for (int rank = 0; rank < size(); ++rank) {
      if (rank == watcher.rank || !is_dead(rank) ||
          watcher.notified[at(rank)]) {
        continue;
      }
      watcher.notified[at(rank)] = true;
      return std::make_pair(rank, *deaths_[at(rank)]);
    }
    changed_.wait(mutex_);
  }
  return std::nullopt;
}

void LoopbackShared::stop(Watcher& watcher) {
  MutexLock lock(mutex_);
  watcher.stopping = true;
  changed_.notify_all();
}

}  // namespace hvd::transport
