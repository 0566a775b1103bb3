// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/mpi/mailbox.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "horovodpp/core/status.h"

namespace hvd::transport {

namespace {

// Follows the bytes of every fragment.
struct GenerationTrailer {
  std::uint32_t generation = 0;
  std::uint32_t last = 1;  // 0: more fragments of this message follow.
};

// Limits per call, so that a call stays short.
constexpr int kSendsPerTurn = 16;
constexpr int kArrivalsPerTurn = 64;

}  // namespace

absl::Status MpiMailbox::send(int to, std::string bytes) {
  if (to == channel_.rank) {
    own_.push_back({.from = to, .bytes = std::move(bytes)});
    return absl::OkStatus();
  }
  const std::size_t limit = channel_.fragment_bytes;
  if (bytes.size() <= limit) {
    return send_fragment(to, std::move(bytes), /*last=*/true);
  }
  for (std::size_t place = 0; place < bytes.size(); place += limit) {
    HVD_RETURN_IF_ERROR(send_fragment(to, bytes.substr(place, limit),
                                      place + limit >= bytes.size()));
  }
  return absl::OkStatus();
}

absl::Status MpiMailbox::send_fragment(int to, std::string bytes, bool last) {
  const GenerationTrailer trailer = {.generation = channel_.generation,
                                     .last = last ? 1u : 0u};
  bytes.append(reinterpret_cast<const char*>(&trailer), sizeof(trailer));
  MpiMessage& message = outgoing_.emplace_back();
  message.peer = to;
  message.bytes = std::move(bytes);
  return mpi_status(
      MPI_Isend(message.bytes.data(), static_cast<int>(message.bytes.size()),
                MPI_BYTE, to, channel_.tag, channel_.comm, &message.request),
      "MPI_Isend", to);
}

absl::Status MpiMailbox::move_sends_on() {
  const auto count = std::min<std::size_t>(outgoing_.size(), kSendsPerTurn);
  for (std::size_t i = 0; i < count; ++i) {
    int done = 0;
    HVD_RETURN_IF_ERROR(mpi_status(
        MPI_Test(&outgoing_.front().request, &done, MPI_STATUS_IGNORE),
        "MPI_Test of sent mail", outgoing_.front().peer));
    if (done != 0) {
      outgoing_.pop_front();
    } else {  // Let other messages go first next time.
      outgoing_.splice(outgoing_.end(), outgoing_, outgoing_.begin());
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> MpiMailbox::flushed() {
  HVD_RETURN_IF_ERROR(move_sends_on());
  if (!outgoing_.empty()) return false;
  // MPI may progress a completed send only during later calls.
  int found = 0;
  HVD_RETURN_IF_ERROR(
      mpi_status(MPI_Iprobe(MPI_ANY_SOURCE, channel_.tag, channel_.comm, &found,
                            MPI_STATUS_IGNORE),
                 "MPI_Iprobe"));
  return true;
}

absl::Status MpiMailbox::take_in_arrivals() {
  for (int i = 0; i < kArrivalsPerTurn; ++i) {
    int found = 0;
    MPI_Message handle = MPI_MESSAGE_NULL;
    MPI_Status about;
    HVD_RETURN_IF_ERROR(
        mpi_status(MPI_Improbe(MPI_ANY_SOURCE, channel_.tag, channel_.comm,
                               &found, &handle, &about),
                   "MPI_Improbe"));
    if (found == 0) break;
    int count = 0;
    HVD_RETURN_IF_ERROR(
        mpi_status(MPI_Get_count(&about, MPI_BYTE, &count), "MPI_Get_count"));
    MpiMessage& message = incoming_.emplace_back();
    message.peer = about.MPI_SOURCE;
    message.bytes.resize(static_cast<std::size_t>(count));
    HVD_RETURN_IF_ERROR(
        mpi_status(MPI_Imrecv(message.bytes.data(), count, MPI_BYTE, &handle,
                              &message.request),
                   "MPI_Imrecv"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Mail>> MpiMailbox::receive() {
  HVD_RETURN_IF_ERROR(move_sends_on());
  HVD_RETURN_IF_ERROR(take_in_arrivals());
  if (!own_.empty()) {
    std::optional<Mail> mail = std::move(own_.front());
    own_.pop_front();
    return mail;
  }
  // A message may overtake messages of other peers, one of which may be dead in
  // mid-message, but not an earlier message of its own sender.
  absl::flat_hash_set<int> unfinished;
  for (auto it = incoming_.begin(); it != incoming_.end();) {
    int done = 0;
    HVD_RETURN_IF_ERROR(
        mpi_status(MPI_Test(&it->request, &done, MPI_STATUS_IGNORE),
                   "MPI_Test of arriving mail"));
    if (done == 0) unfinished.insert(it->peer);
    if (unfinished.contains(it->peer)) {
      ++it;
      continue;
    }
    std::optional<Mail> mail = open(std::move(*it));
    it = incoming_.erase(it);
    if (mail.has_value()) return mail;
  }
  return std::nullopt;
}

std::optional<Mail> MpiMailbox::open(MpiMessage message) {
  GenerationTrailer trailer;
  std::string& bytes = message.bytes;
  if (bytes.size() < sizeof(trailer)) return std::nullopt;
  bytes.copy(reinterpret_cast<char*>(&trailer), sizeof(trailer),
             bytes.size() - sizeof(trailer));
  if (trailer.generation != channel_.generation) return std::nullopt;
  bytes.resize(bytes.size() - sizeof(trailer));
  const auto started = partial_.find(message.peer);
  if (started == partial_.end() && trailer.last != 0) {
    return Mail{.from = message.peer, .bytes = std::move(bytes)};
  }
  std::string& whole = partial_[message.peer];
  whole += bytes;
  if (trailer.last == 0) return std::nullopt;
  Mail mail = {.from = message.peer, .bytes = std::move(whole)};
  partial_.erase(message.peer);
  return mail;
}

void MpiMailbox::give_up(MpiMessages& leftovers) {
  leftovers.splice(leftovers.end(), outgoing_);
  leftovers.splice(leftovers.end(), incoming_);
}

absl::Status MpiExchangePost::send(int to, std::string bytes) {
  return mailbox_.send(to, std::move(bytes));
}

absl::StatusOr<std::optional<Mail>> MpiExchangePost::receive() {
  return mailbox_.receive();
}

absl::StatusOr<bool> MpiExchangePost::flushed() { return mailbox_.flushed(); }

}  // namespace hvd::transport
