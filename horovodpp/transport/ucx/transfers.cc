// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/ucx/transfers.h"

#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hvd::transport {
namespace {

constexpr unsigned kTransferMessage = 1;  // The id of our active messages.

// How often to test an abandoned transfer that is under way. It completes soon
// if the peer is alive.
constexpr int kAbandonPolls = 1000;

}  // namespace

UcxTransfers::UcxTransfers(UcxWorker& worker, const Options& options)
    : worker_(worker),
      options_(options),
      sent_(static_cast<std::size_t>(options.size)),
      incoming_(static_cast<std::size_t>(options.size)) {
  set_handler(on_arrival);
}

UcxTransfers::~UcxTransfers() {
  is_leaving_ = true;
  for (Incoming& from : incoming_) {
    for (auto& [number, arrival] : from.waiting) release(arrival);
  }
  for (auto& [route, arrivals] : early_) {
    for (Arrival& arrival : arrivals) release(arrival);
  }
  // Until the connections are closed, UCX reads the headers of sends.
  worker_.leave();
  set_handler(nullptr);
}

void UcxTransfers::set_handler(ucp_am_recv_callback_t handler) {
  ucp_am_handler_param_t params = {};
  params.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                      UCP_AM_HANDLER_PARAM_FIELD_CB |
                      UCP_AM_HANDLER_PARAM_FIELD_ARG;
  params.id = kTransferMessage;
  params.cb = handler;
  params.arg = this;
  ucp_worker_set_am_recv_handler(worker_.get(), &params);
}

TransferId UcxTransfers::post_send(int to, DataTag tag,
                                   std::span<const std::byte> bytes) {
  const TransferId id = next_id_++;
  auto transfer = std::make_unique<Transfer>();
  transfer->route = {to, tag.epoch, tag.sequence};
  transfer->header = {.number = sent_[static_cast<std::size_t>(to)]++,
                      .from = options_.rank,
                      .epoch = tag.epoch,
                      .sequence = tag.sequence};
  const ucp_request_param_t params = {};
  transfer->request.emplace(ucp_am_send_nbx(
      worker_.endpoint(to), kTransferMessage, &transfer->header,
      sizeof(transfer->header), bytes.data(), bytes.size(), &params));
  posted_.emplace(id, std::move(transfer));
  return id;
}

TransferId UcxTransfers::post_receive(int from, DataTag tag,
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
    fill(*transfer, early->second.front());
    early->second.pop_front();
    if (early->second.empty()) early_.erase(early);
  }
  posted_.emplace(id, std::move(transfer));
  return id;
}

absl::StatusOr<bool> UcxTransfers::test(TransferId id) {
  const auto found = posted_.find(id);
  if (found == posted_.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rank ", options_.rank, " has no transfer ", id, " posted"));
  }
  Transfer& transfer = *found->second;
  if (!transfer.is_complete()) progress();
  if (!transfer.is_complete()) {
    absl::Status lost = check_peer(transfer);
    if (lost.ok()) return false;
    abandon(id);
    return lost;
  }
  const absl::Status outcome = std::move(transfer.outcome);
  posted_.erase(found);
  if (!outcome.ok()) return outcome;
  return true;
}

// A transfer that failed with its endpoint stays incomplete for a while, since
// its peer may be dead.
absl::Status UcxTransfers::check_peer(Transfer& transfer) {
  const int peer = std::get<0>(transfer.route);
  if (transfer.request && transfer.request->status() < 0) {
    worker_.note_failure(peer, transfer.request->status());
  }
  const auto& failure = worker_.failure(peer);
  if (!failure ||
      std::chrono::steady_clock::now() < failure->noticed + options_.grace) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(ucs_status_string(failure->status));
}

bool UcxTransfers::abandon(TransferId id) {
  const auto found = posted_.find(id);
  if (found == posted_.end()) return true;
  std::unique_ptr<Transfer> transfer = std::move(found->second);
  posted_.erase(found);
  if (const auto expected = expected_.find(transfer->route);
      transfer->receives && expected != expected_.end()) {
    std::erase(expected->second, id);
    if (expected->second.empty()) expected_.erase(expected);
  }
  if (!transfer->request) return true;
  for (int poll = 0; poll < kAbandonPolls; ++poll) {
    if (transfer->request->status() != UCS_INPROGRESS) return true;
    progress();
    std::this_thread::yield();
  }
  leftovers_.push_back(std::move(transfer));
  return false;
}

std::optional<int> UcxTransfers::peer_of(TransferId id) const {
  const auto found = posted_.find(id);
  if (found == posted_.end()) return std::nullopt;
  return std::get<0>(found->second->route);
}

void UcxTransfers::progress() {
  worker_.progress();
  if (!has_waiting_) return;
  has_waiting_ = false;
  for (Incoming& from : incoming_) {
    for (auto next = from.waiting.begin();
         next != from.waiting.end() && next->first == from.next;
         next = from.waiting.erase(next)) {
      deliver(std::move(next->second));
      ++from.next;
    }
  }
}

ucs_status_t UcxTransfers::on_arrival(void* self, const void* header,
                                      std::size_t header_bytes, void* data,
                                      std::size_t bytes,
                                      const ucp_am_recv_param_t* param) {
  auto& transfers = *static_cast<UcxTransfers*>(self);
  Arrival arrival = {
      .bytes = bytes,
      .is_offer = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0};
  if (transfers.is_leaving_ || header_bytes != sizeof(arrival.header)) {
    return UCS_OK;
  }
  std::memcpy(&arrival.header, header, header_bytes);
  const int rank = arrival.header.from;
  if (rank < 0 || rank >= transfers.options_.size) return UCS_OK;
  Incoming& from = transfers.incoming_[static_cast<std::size_t>(rank)];

  if (arrival.header.number == from.next && !arrival.is_offer) {
    if (Transfer* const transfer = transfers.take_expected(arrival.header)) {
      transfers.complete(*transfer, {static_cast<std::byte*>(data), bytes});
      ++from.next;
      transfers.has_waiting_ |= !from.waiting.empty();
      return UCS_OK;
    }
  }
  // UCX allows few calls here: progress() takes in the rest.
  transfers.has_waiting_ = true;
  if (arrival.is_offer ||
      (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0) {
    arrival.kept = data;
  } else {
    arrival.copy.assign(static_cast<const char*>(data), bytes);
  }
  const bool is_kept = arrival.kept != nullptr;
  from.waiting.emplace(arrival.header.number, std::move(arrival));
  return is_kept ? UCS_INPROGRESS : UCS_OK;
}

UcxTransfers::Transfer* UcxTransfers::take_expected(const Header& header) {
  const auto expected =
      expected_.find({header.from, header.epoch, header.sequence});
  if (expected == expected_.end()) return nullptr;
  const TransferId id = expected->second.front();
  expected->second.pop_front();
  if (expected->second.empty()) expected_.erase(expected);
  return posted_.at(id).get();
}

void UcxTransfers::deliver(Arrival arrival) {
  if (Transfer* const transfer = take_expected(arrival.header)) {
    fill(*transfer, arrival);
    return;
  }
  const Header& header = arrival.header;
  early_[{header.from, header.epoch, header.sequence}].push_back(
      std::move(arrival));
}

void UcxTransfers::fill(Transfer& transfer, Arrival& arrival) {
  if (arrival.is_offer && arrival.bytes == transfer.target.size()) {
    const ucp_request_param_t params = {};
    transfer.request.emplace(ucp_am_recv_data_nbx(
        worker_.get(), std::exchange(arrival.kept, nullptr),
        transfer.target.data(), transfer.target.size(), &params));
    return;
  }
  complete(transfer, arrival.is_offer
                         ? std::span<const std::byte>(
                               static_cast<std::byte*>(nullptr), arrival.bytes)
                         : arrival.data());
  release(arrival);
}

std::span<const std::byte> UcxTransfers::Arrival::data() const {
  return {kept != nullptr ? static_cast<const std::byte*>(kept)
                          : reinterpret_cast<const std::byte*>(copy.data()),
          bytes};
}

void UcxTransfers::complete(Transfer& transfer,
                            std::span<const std::byte> bytes) const {
  transfer.done = true;
  if (bytes.size() != transfer.target.size()) {
    transfer.outcome = size_mismatch(transfer, bytes.size());
  } else if (!bytes.empty()) {
    std::memcpy(transfer.target.data(), bytes.data(), bytes.size());
  }
}

void UcxTransfers::release(Arrival& arrival) {
  if (arrival.kept == nullptr) return;
  ucp_am_data_release(worker_.get(), std::exchange(arrival.kept, nullptr));
}

absl::Status UcxTransfers::size_mismatch(const Transfer& transfer,
                                         std::size_t bytes) const {
  const auto& [peer, epoch, sequence] = transfer.route;
  return absl::InvalidArgumentError(
      absl::StrCat("rank ", peer, " sent ", bytes, " bytes where rank ",
                   options_.rank, " expects ", transfer.target.size(),
                   " (epoch ", epoch, ", sequence ", sequence, ")"));
}

}  // namespace hvd::transport
