#include "horovodpp/runtime/mailroom.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <variant>

#include "horovodpp/coordinator/message.h"
#include "horovodpp/core/status.h"

namespace hvd::runtime {

void Mailroom::ring(int rank) {
  const std::vector<int>& local = topology_.local_ranks();
  const auto found = std::lower_bound(local.begin(), local.end(), rank);
  if (found == local.end() || *found != rank) return;
  segment_.doorbell(static_cast<int>(found - local.begin())).ring();
}

absl::Status Mailroom::send(int to, std::string bytes) {
  HVD_RETURN_IF_ERROR(communicator_.send_mail(to, std::move(bytes)));
  HVD_ASSIGN_OR_RETURN(const bool flushed, communicator_.mail_is_flushed());
  if (!flushed) unflushed_.push_back(to);
  // The bell is silent if nobody sleeps; whether anybody does must be read
  // after the message can be seen, and the transport's stores are not seq_cst.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  ring(to);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<transport::Mail>> Mailroom::next() {
  if (kept_.empty()) return communicator_.receive_mail();
  std::optional<transport::Mail> mail = std::move(kept_.front());
  kept_.pop_front();
  return mail;
}

absl::Status Mailroom::collect() {
  while (true) {
    HVD_ASSIGN_OR_RETURN(std::optional<transport::Mail> mail,
                         communicator_.receive_mail());
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
  if (unflushed_.empty()) return communicator_.mail_is_flushed();
  HVD_ASSIGN_OR_RETURN(const bool flushed, communicator_.mail_is_flushed());
  if (flushed) {
    for (int rank : std::exchange(unflushed_, {})) ring(rank);
  }
  return flushed;
}

}  // namespace hvd::runtime
