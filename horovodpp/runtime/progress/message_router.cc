// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/progress/message_router.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "horovodpp/core/job/ranks.h"
#include "horovodpp/core/status.h"

namespace hvd::runtime {
namespace {

// How long to keep looking after the wires. MPI may report a message as sent
// while it still waits in the sender for room. The pauses between looks grow
// with the message's age. A rank that hardly runs looks a few times all the
// same.
constexpr std::chrono::milliseconds kLinger(20);
constexpr std::chrono::milliseconds kFirstLook(1);
constexpr int kLooks = 5;

}  // namespace

void MessageRouter::Traffic::was_used() {
  used_at_ = std::chrono::steady_clock::now();
  looks_ = 0;
  used_ = true;
}

bool MessageRouter::Traffic::is_recent() const {
  return looks_ < kLooks || age() < kLinger;
}

std::optional<std::chrono::steady_clock::duration>
MessageRouter::Traffic::progress_due_after() const {
  if (!may_need_progress()) return std::nullopt;
  return std::clamp<std::chrono::steady_clock::duration>(age(), kFirstLook,
                                                         kLinger);
}

std::optional<std::chrono::steady_clock::duration>
MessageRouter::progress_due_after() const {
  const auto mail = mail_.progress_due_after();
  const auto data = data_.progress_due_after();
  return mail && data ? std::min(*mail, *data) : mail ? mail : data;
}

absl::Status MessageRouter::post(int to, std::string bytes) {
  const auto local_rank = position_in(topology_.local_ranks(), to);
  if (local_rank && node_mail_.reaches(*local_rank)) {
    node_mail_.post(*local_rank, std::move(bytes));
    return absl::OkStatus();
  }
  mail_.was_used();
  has_unflushed_ = true;
  return wires_.send_mail(to, std::move(bytes));
}

transport::Mail MessageRouter::from_node(transport::NodeLetter& letter) const {
  const auto from = static_cast<std::size_t>(letter.from);
  return {topology_.local_ranks()[from], std::move(letter.bytes)};
}

absl::StatusOr<std::optional<transport::Mail>>
MessageRouter::receive_from_network() {
  mail_.looked();
  data_.looked();
  return wires_.receive_mail();
}

absl::StatusOr<bool> MessageRouter::flush() {
  const bool written = node_mail_.flush();
  if (!uses_network()) return written;
  mail_.looked();
  data_.looked();
  HVD_ASSIGN_OR_RETURN(const bool flushed, wires_.mail_is_flushed());
  has_unflushed_ = !flushed;
  return written && flushed;
}

}  // namespace hvd::runtime
