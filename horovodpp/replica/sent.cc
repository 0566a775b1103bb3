// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/sent.h"

#include <optional>

namespace hvd::replica {

struct Sent::Compressed {
  std::unique_ptr<compression::Exchange> exchange;
  bool is_advanced = false;
  std::optional<Status> outcome = std::nullopt;
};

Sent::Sent(std::unique_ptr<compression::Exchange> exchange)
    : kind_(Kind::kExchange),
      compressed_(std::make_shared<Compressed>(
          Compressed{.exchange = std::move(exchange)})) {}

void Sent::advance() {
  if (kind_ != Kind::kExchange) return;
  if (std::exchange(compressed_->is_advanced, true)) return;
  const Status status = compressed_->exchange->advance();
  if (!status.ok()) compressed_->outcome = status;
}

Status Sent::wait() {
  if (kind_ == Kind::kPrepared) return started_->wait();
  if (kind_ != Kind::kExchange) return reduced_.wait();
  std::optional<Status>& outcome = compressed_->outcome;
  if (!outcome) outcome = compressed_->exchange->finish();
  return *outcome;
}

void Sent::abandon() {
  if (kind_ == Kind::kPrepared) started_->wait().ignore_error();
  if (kind_ == Kind::kFuture) reduced_.wait().ignore_error();
}

}  // namespace hvd::replica
