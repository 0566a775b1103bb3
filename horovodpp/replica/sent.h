// SPDX-License-Identifier: Apache-2.0
// A Sent is one submission of a reducer that it waits for: one gradient, or a
// group. Copies refer to the same submission.
#pragma once

#include <memory>
#include <utility>

#include "horovodpp/compression/compressor.h"
#include "horovodpp/core/outcome.h"
#include "horovodpp/core/thread/future.h"
#include "horovodpp/runtime/prepared.h"

namespace hvd::replica {

class Sent {
 public:
  Sent() = default;  // No submission.
  explicit Sent(Future<void> reduced)
      : kind_(Kind::kFuture), reduced_(std::move(reduced)) {}
  // `started` lives until it has been waited for.
  explicit Sent(Prepared& started)
      : kind_(Kind::kPrepared), started_(&started) {}
  explicit Sent(std::unique_ptr<compression::Exchange> exchange);

  bool is_nothing() const { return kind_ == Kind::kNothing; }

  // Takes the next step of an exchange. Call it on all submissions before
  // waiting for one.
  void advance();
  Status wait();
  // Waits without the rest of an exchange.
  void abandon();

 private:
  enum class Kind : char { kNothing, kFuture, kPrepared, kExchange };
  struct Compressed;

  Kind kind_ = Kind::kNothing;
  Future<void> reduced_ = {};
  Prepared* started_ = nullptr;
  std::shared_ptr<Compressed> compressed_ = nullptr;
};

}  // namespace hvd::replica
