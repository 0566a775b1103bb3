// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/mpi/exchange_post.h"

#include <utility>

namespace hvd::transport {

absl::Status MpiExchangePost::send(int to, std::string bytes) {
  return mailbox_.send(to, std::move(bytes));
}

absl::StatusOr<std::optional<Mail>> MpiExchangePost::receive() {
  return mailbox_.receive();
}

absl::StatusOr<bool> MpiExchangePost::flushed() { return mailbox_.flushed(); }

}  // namespace hvd::transport
