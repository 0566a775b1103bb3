// SPDX-License-Identifier: Apache-2.0
// A GradientSender submits the gradients of one reducer: one by one or in groups,
// as they are or compressed, to all ranks or each rank's part to that rank alone.
//
// Not thread-safe but for const methods; its reducer sends under a lock.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/compression/compressor.h"
#include "horovodpp/core/future.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/replica/reducer_options.h"
#include "horovodpp/replica/rows_exchange.h"
#include "horovodpp/runtime/membership.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::replica {

// What was sent in one go: one gradient, or a group.
class Sent {
 public:
  explicit Sent(Future<void> reduced) : reduced_(std::move(reduced)) {}
  explicit Sent(std::unique_ptr<compression::Exchange> exchange)
      : exchange_(std::move(exchange)) {}

  // Everything that was sent takes its next step before one is waited for.
  void advance();
  absl::Status wait();
  // Waits without the rest of an exchange.
  void abandon();

 private:
  Future<void> reduced_ = {};
  std::unique_ptr<compression::Exchange> exchange_ = nullptr;  // Or null.
  bool is_advanced_ = false;
  std::optional<absl::Status> outcome_ = std::nullopt;
};

// A gradient on its way.
struct Outgoing {
  const std::string& key;
  TensorView gradient;
  std::shared_ptr<const void> owner = nullptr;  // Null: it is borrowed.
};

class GradientSender {
 public:
  // Throws as the constructor of a GradientReducer.
  GradientSender(Runtime& runtime, ReducerOptions options);

  // The job, as long as this rank is in it.
  absl::StatusOr<std::shared_ptr<Runtime>> job() const;

  // The name of one that is sent by itself.
  std::string name_of(const std::string& key) const;

  // All submissions of gradients are made here. `name` is name_of() its key.
  std::shared_ptr<Sent> send(Runtime& runtime, Outgoing gradient,
                             const std::string& name);
  // Several.
  std::shared_ptr<Sent> send(Runtime& runtime, std::vector<Outgoing> gradients);
  std::shared_ptr<Sent> send(Runtime& runtime, const ScatteredGroup& group);
  std::shared_ptr<Sent> send(Runtime& runtime, const std::string& key,
                             const Rows& rows,
                             std::shared_ptr<GatheredRows> result);

  const ReducerOptions& options() const { return options_; }
  int rank() const { return rank_; }
  int num_ranks() const { return num_ranks_; }
  ReducerStats stats() const { return stats_; }

 private:
  AllreduceOptions call_options(std::string name) const;
  bool compresses(const Outgoing& gradient) const {
    return options_.compressor != nullptr && num_ranks_ > 1 &&
           gradient.gradient.dtype() == DType::kF32;
  }
  void tell_sent(const std::vector<std::string>& keys) const;
  // Tells, if somebody wants to hear of it, when these are reduced.
  std::shared_ptr<Sent> watched(Future<void> reduced,
                                std::vector<std::string> keys) const;
  static Future<void> reduced(Runtime& runtime, std::vector<Outgoing> gradients,
                              AllreduceOptions options);
  std::unique_ptr<compression::Exchange> compressed(
      Runtime& runtime, std::vector<Outgoing> gradients,
      const AllreduceOptions& options);

  const Membership membership_;
  const ReducerOptions options_;
  int rank_ = 0;
  int num_ranks_ = 1;
  ReducerStats stats_;
};

}  // namespace hvd::replica
