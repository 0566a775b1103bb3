// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/mpi/transfers.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::transport {
namespace {

// How often to test an abandoned receive whose message is arriving. It
// completes soon if the sender is alive.
constexpr int kAbandonPolls = 10'000;

}  // namespace

absl::StatusOr<TransferId> MpiTransfers::post_send(
    int to, DataTag tag, std::span<const std::byte> bytes) {
  Transfer transfer = {
      .route = {to, channel_.tags.data(channel_.generation, tag)},
      .tag = tag,
      .bytes = bytes.size(),
      .requests = {}};
  const std::size_t full_chunks = bytes.size() / channel_.chunk_bytes;
  for (std::size_t i = 0; i <= full_chunks; ++i) {
    const std::size_t offset = i * channel_.chunk_bytes;
    const std::size_t chunk =
        std::min(channel_.chunk_bytes, bytes.size() - offset);
    MPI_Request& request = transfer.requests.emplace_back(MPI_REQUEST_NULL);
    HVD_RETURN_IF_ERROR(mpi_status(
        MPI_Isend(bytes.data() + offset, static_cast<int>(chunk), MPI_BYTE, to,
                  transfer.route.second, channel_.comm, &request),
        "MPI_Isend", to));
  }
  const TransferId id = next_id_++;
  posted_.emplace(id, std::move(transfer));
  return id;
}

absl::StatusOr<TransferId> MpiTransfers::post_receive(
    int from, DataTag tag, std::span<std::byte> bytes) {
  const Route route = {from, channel_.tags.data(channel_.generation, tag)};
  const TransferId id = next_id_++;
  posted_.emplace(id, Transfer{.receives = true,
                               .route = route,
                               .tag = tag,
                               .target = bytes.data(),
                               .bytes = bytes.size(),
                               .requests = {}});
  expected_[route].push_back(id);
  return id;
}

// Assigns chunks that have arrived on `route` to the expected receives.
absl::Status MpiTransfers::match(const Route& route) {
  const auto found = expected_.find(route);
  if (found == expected_.end()) return absl::OkStatus();
  std::deque<TransferId>& receives = found->second;
  while (!receives.empty()) {
    int came = 0;
    int count = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status about;
    HVD_RETURN_IF_ERROR(
        mpi_status(MPI_Improbe(route.first, route.second, channel_.comm, &came,
                               &message, &about),
                   "MPI_Improbe", route.first));
    if (came == 0) return absl::OkStatus();
    HVD_RETURN_IF_ERROR(
        mpi_status(MPI_Get_count(&about, MPI_BYTE, &count), "MPI_Get_count"));
    Transfer& transfer = posted_.at(receives.front());
    HVD_RETURN_IF_ERROR(take_in(transfer, message, count));
    if (transfer.matched) receives.pop_front();
  }
  expected_.erase(found);
  return absl::OkStatus();
}

absl::Status MpiTransfers::match_all() {
  std::vector<Route> routes;
  for (const auto& [route, receives] : expected_) routes.push_back(route);
  for (const Route& route : routes) HVD_RETURN_IF_ERROR(match(route));
  return absl::OkStatus();
}

absl::Status MpiTransfers::take_in(Transfer& transfer, MPI_Message message,
                                   int count) {
  const auto size = static_cast<std::size_t>(count);
  transfer.matched = size < channel_.chunk_bytes;
  const bool fits = transfer.matched ? transfer.sent + size == transfer.bytes
                                     : transfer.sent + size <= transfer.bytes;
  transfer.sent += size;
  transfer.fits = transfer.fits && fits;
  if (transfer.fits) {
    MPI_Request& request = transfer.requests.emplace_back(MPI_REQUEST_NULL);
    return mpi_status(MPI_Imrecv(transfer.target + (transfer.sent - size),
                                 count, MPI_BYTE, &message, &request),
                      "MPI_Imrecv");
  }
  // The discarded message must still be received, because its sender waits.
  MpiMessage& waste = leftovers_.emplace_back();
  waste.bytes.resize(size);
  return mpi_status(
      MPI_Imrecv(waste.bytes.data(), count, MPI_BYTE, &message, &waste.request),
      "MPI_Imrecv");
}

absl::StatusOr<bool> MpiTransfers::complete(Transfer& transfer) {
  for (MPI_Request& request : transfer.requests) {
    int done = 0;
    HVD_RETURN_IF_ERROR(mpi_status(MPI_Test(&request, &done, MPI_STATUS_IGNORE),
                                   "MPI_Test of a transfer",
                                   transfer.route.first));
    if (done == 0) return false;
  }
  return true;
}

absl::Status MpiTransfers::size_mismatch(const Transfer& transfer) const {
  return absl::InvalidArgumentError(
      absl::StrCat("rank ", transfer.route.first, " sent ", transfer.sent,
                   " bytes where rank ", channel_.rank, " expects ",
                   transfer.bytes, " (epoch ", transfer.tag.epoch,
                   ", sequence ", transfer.tag.sequence, ")"));
}

absl::StatusOr<bool> MpiTransfers::test(TransferId id) {
  const auto found = posted_.find(id);
  if (found == posted_.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rank ", channel_.rank, " has no transfer ", id, " posted"));
  }
  Transfer& transfer = found->second;
  if (transfer.receives && !transfer.matched) {
    HVD_RETURN_IF_ERROR(match(transfer.route));
    if (!transfer.matched) return false;
  }
  HVD_ASSIGN_OR_RETURN(const bool done, complete(transfer));
  if (!done) {
    // The send may need the peer, or this rank itself, to receive first.
    if (!transfer.receives) HVD_RETURN_IF_ERROR(match_all());
    return false;
  }
  if (transfer.receives) ++received_;
  const absl::Status outcome =
      transfer.fits ? absl::OkStatus() : size_mismatch(transfer);
  posted_.erase(found);
  if (!outcome.ok()) return outcome;
  return true;
}

absl::StatusOr<bool> MpiTransfers::complete_abandoned(
    Transfer& transfer) const {
  if (channel_.calls == nullptr) return complete(transfer);
  const CallMeter::Call call(*channel_.calls, "giving up data");
  return complete(transfer);
}

bool MpiTransfers::abandon(TransferId id) {
  const auto found = posted_.find(id);
  if (found == posted_.end()) return true;
  Transfer& transfer = found->second;
  absl::StatusOr<bool> done = complete_abandoned(transfer);
  if (transfer.receives) {
    const auto expected = expected_.find(transfer.route);
    if (expected != expected_.end()) std::erase(expected->second, id);
    for (int poll = 0; poll < kAbandonPolls && done.ok() && !*done; ++poll) {
      std::this_thread::yield();
      done = complete_abandoned(transfer);
    }
  }
  for (MPI_Request request : transfer.requests) {
    if (request == MPI_REQUEST_NULL) continue;
    MpiMessage& leftover = leftovers_.emplace_back();
    leftover.peer = transfer.route.first;
    leftover.request = request;
  }
  posted_.erase(found);
  return done.ok() && *done;
}

void MpiTransfers::give_up(MpiMessages& leftovers) {
  while (!posted_.empty()) abandon(posted_.begin()->first);
  leftovers.splice(leftovers.end(), leftovers_);
}

}  // namespace hvd::transport
