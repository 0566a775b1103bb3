#include "horovodpp/runtime/mailroom.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "horovodpp/coordinator/message.h"
#include "horovodpp/core/status.h"

namespace hvd::runtime {
namespace {

// MPI may call a message sent that still waits in the sender for room on its
// way.
constexpr std::chrono::milliseconds kLinger(20);

}  // namespace

absl::Status Mailroom::send(int to, std::string bytes) {
  const std::vector<int>& local = topology_.local_ranks();
  const auto found = std::lower_bound(local.begin(), local.end(), to);
  if (found != local.end() && *found == to) {
    const int local_rank = static_cast<int>(found - local.begin());
    if (node_mail_.reaches(local_rank)) {
      node_mail_.send(local_rank, std::move(bytes));
      return absl::OkStatus();
    }
  }
  wires_used_at_ = std::chrono::steady_clock::now();
  return wires_.send_mail(to, std::move(bytes));
}

absl::StatusOr<std::optional<transport::Mail>> Mailroom::receive() {
  if (auto letter = node_mail_.receive()) {
    const auto from = static_cast<std::size_t>(letter->from);
    return transport::Mail{topology_.local_ranks()[from],
                           std::move(letter->bytes)};
  }
  if (!uses_wires()) return std::nullopt;
  return wires_.receive_mail();
}

absl::StatusOr<std::optional<transport::Mail>> Mailroom::next() {
  if (kept_.empty()) return receive();
  std::optional<transport::Mail> mail = std::move(kept_.front());
  kept_.pop_front();
  return mail;
}

absl::Status Mailroom::attend() {
  HVD_RETURN_IF_ERROR(flush().status());
  while (true) {
    HVD_ASSIGN_OR_RETURN(std::optional<transport::Mail> mail, receive());
    if (!mail) return absl::OkStatus();
    const auto envelope = coordinator::decode(mail->bytes);
    kept_.push_back(*std::move(mail));
    if (!envelope.ok()) continue;  // Its turn to be complained about will come.
    if (const auto* broken =
            std::get_if<coordinator::Break>(&envelope->message)) {
      return absl::AbortedError(broken->why);
    }
  }
}

absl::StatusOr<bool> Mailroom::flush() {
  const bool written = node_mail_.flush();
  if (!uses_wires()) return written;
  HVD_ASSIGN_OR_RETURN(const bool flushed, wires_.mail_is_flushed());
  return written && flushed;
}

bool Mailroom::is_sending() const {
  return uses_wires() &&
         std::chrono::steady_clock::now() - wires_used_at_ < kLinger;
}

}  // namespace hvd::runtime
