// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/local/transfers.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hvd::transport {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

TransferId LocalTransfers::post_send(int to, DataTag tag,
                                     std::span<const std::byte> bytes) {
  const TransferId id = next_id_++;
  auto transfer = std::make_unique<Transfer>();
  transfer->route = {to, tag.epoch, tag.sequence};
  if (to == rank_) {
    arrived(
        rank_,
        {.kind = FrameKind::kData,
         .epoch = tag.epoch,
         .sequence = tag.sequence,
         .bytes = bytes.size()},
        std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    transfer->done = true;
  } else {
    transfer->number = stream(to)->send_borrowed({.kind = FrameKind::kData,
                                                  .epoch = tag.epoch,
                                                  .sequence = tag.sequence},
                                                 bytes);
  }
  posted_.emplace(id, std::move(transfer));
  return id;
}

TransferId LocalTransfers::post_receive(int from, DataTag tag,
                                        std::span<std::byte> bytes) {
  const TransferId id = next_id_++;
  auto transfer = std::make_unique<Transfer>();
  transfer->receives = true;
  transfer->route = {from, tag.epoch, tag.sequence};
  transfer->target = bytes;
  const auto early = early_.find(transfer->route);
  if (early == early_.end()) {
    expected_[transfer->route].push_back(id);
  } else {
    complete(*transfer, bytes_of(early->second.front()));
    early->second.pop_front();
    if (early->second.empty()) early_.erase(early);
  }
  posted_.emplace(id, std::move(transfer));
  return id;
}

absl::StatusOr<bool> LocalTransfers::test(TransferId id) {
  const auto found = posted_.find(id);
  if (found == posted_.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", rank_, " has no transfer ", id, " posted"));
  }
  Transfer& transfer = *found->second;
  if (!is_done(transfer)) return false;
  const absl::Status outcome = std::move(transfer.outcome);
  posted_.erase(found);
  if (!outcome.ok()) return outcome;
  return true;
}

// A receive from a dead rank never completes; Communicator::on_peer_lost reports
// the death.
bool LocalTransfers::is_done(const Transfer& transfer) const {
  const int peer = std::get<0>(transfer.route);
  return transfer.done ||
         (!transfer.receives && stream(peer)->was_sent(transfer.number));
}

std::optional<int> LocalTransfers::awaited_peer(TransferId id) const {
  const auto found = posted_.find(id);
  if (found == posted_.end() || is_done(*found->second)) return std::nullopt;
  const int peer = std::get<0>(found->second->route);
  if (peer == rank_) return std::nullopt;
  return peer;
}

void LocalTransfers::abandon(TransferId id) {
  const auto found = posted_.find(id);
  if (found == posted_.end()) return;
  const Transfer& transfer = *found->second;
  const int peer = std::get<0>(transfer.route);
  if (!transfer.receives) {
    if (peer != rank_) stream(peer)->own(transfer.number);
  } else if (filling(peer) == id) {
    stream(peer)->release_memory();
    filling(peer).reset();
  } else if (const auto expected = expected_.find(transfer.route);
             expected != expected_.end()) {
    std::erase(expected->second, id);
    if (expected->second.empty()) expected_.erase(expected);
  }
  posted_.erase(found);
}

std::byte* LocalTransfers::memory_for(int from, const FrameHeader& header) {
  const Route route = {from, header.epoch, header.sequence};
  const auto expected = expected_.find(route);
  if (expected == expected_.end()) return nullptr;
  const Transfer& next = *posted_.at(expected->second.front());
  if (next.target.size() != header.bytes) return nullptr;
  filling(from) = take_expected(route);
  return next.target.data();
}

void LocalTransfers::arrived(int from, const FrameHeader& header,
                             std::string bytes) {
  if (filling(from).has_value()) {
    posted_.at(*filling(from))->done = true;
    filling(from).reset();
    return;
  }
  const Route route = {from, header.epoch, header.sequence};
  if (const auto id = take_expected(route)) {
    complete(*posted_.at(*id), bytes_of(bytes));
  } else {
    early_[route].push_back(std::move(bytes));
  }
}

std::optional<TransferId> LocalTransfers::take_expected(const Route& route) {
  const auto expected = expected_.find(route);
  if (expected == expected_.end()) return std::nullopt;
  const TransferId id = expected->second.front();
  expected->second.pop_front();
  if (expected->second.empty()) expected_.erase(expected);
  return id;
}

void LocalTransfers::complete(Transfer& transfer,
                              std::span<const std::byte> bytes) const {
  transfer.done = true;
  if (bytes.size() != transfer.target.size()) {
    transfer.outcome = size_mismatch(transfer, bytes.size());
  } else if (!bytes.empty()) {
    std::memcpy(transfer.target.data(), bytes.data(), bytes.size());
  }
}

absl::Status LocalTransfers::size_mismatch(const Transfer& transfer,
                                           std::uint64_t bytes) const {
  const auto& [peer, epoch, sequence] = transfer.route;
  return absl::InvalidArgumentError(absl::StrCat(
      "rank ", peer, " sent ", bytes, " bytes where rank ", rank_, " expects ",
      transfer.target.size(), " (epoch ", epoch, ", sequence ", sequence, ")"));
}

}  // namespace hvd::transport
