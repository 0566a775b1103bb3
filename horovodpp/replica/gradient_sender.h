// SPDX-License-Identifier: Apache-2.0
// A GradientSender submits the gradients of a reducer: one by one or in groups,
// compressed or not, whole or each part to its rank.
//
// Not thread-safe except for const functions; its reducer sends under a lock.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/compression/compressor.h"
#include "horovodpp/core/outcome.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/core/thread/future.h"
#include "horovodpp/replica/reducer_options.h"
#include "horovodpp/replica/rows_exchange.h"
#include "horovodpp/replica/sent.h"
#include "horovodpp/runtime/membership.h"
#include "horovodpp/runtime/prepared.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/runtime/settings/options.h"

namespace hvd::replica {

// A gradient to be sent. Key and view are valid during the call.
struct Outgoing {
  const std::string& key;
  const TensorView& gradient;
  std::shared_ptr<const void> owner = nullptr;  // Null: it is borrowed.
};

// The allreduce of one gradient, in step after step: by name, or by a handle if
// the gradient lies where it lay the last time. The handle costs a fraction.
// Peers see no difference.
class GradientCall {
 public:
  explicit GradientCall(AllreduceOptions options)
      : options_(std::move(options)) {}

  // Requires that the last start was waited for. `owner` as in a reducer's
  // add().
  Sent start(Runtime& runtime, const TensorView& gradient,
             std::shared_ptr<const void> owner);

 private:
  bool has_same_address(const TensorView& gradient) const {
    return gradient.data() == last_.data() && gradient.data() != nullptr &&
           gradient.dtype() == last_.dtype() &&
           gradient.shape() == last_.shape() &&
           gradient.device() == last_.device();
  }

  const AllreduceOptions options_;
  TensorView last_ = {};
  std::optional<Prepared> prepared_ = std::nullopt;  // For `last_`.
};

class GradientSender {
 public:
  // Throws as the constructor of a GradientReducer.
  GradientSender(Runtime& runtime, ReducerOptions options);

  // The job, while this rank is in it.
  StatusOr<std::shared_ptr<Runtime>> job() const;

  // All submissions of gradients are made here. `call` belongs to this
  // gradient.
  Sent send(Runtime& runtime, Outgoing gradient,
            std::optional<GradientCall>& call);
  // Sends several.
  Sent send(Runtime& runtime, std::vector<Outgoing> gradients);
  Sent send(Runtime& runtime, const ScatteredGroup& group);
  Sent send(Runtime& runtime, const std::string& key, const Rows& rows,
            std::shared_ptr<GatheredRows> result);

  const ReducerOptions& options() const { return options_; }
  std::size_t bucket_bytes() const {
    return options_.compressor == nullptr ? options_.bucket_bytes : 0;
  }
  int rank() const { return rank_; }
  int num_ranks() const { return num_ranks_; }
  ReducerStats stats() const { return stats_; }

 private:
  AllreduceOptions call_options(const std::string& key) const;
  bool compresses(const Outgoing& gradient) const {
    return options_.compressor != nullptr && num_ranks_ > 1 &&
           gradient.gradient.dtype() == DType::kF32;
  }
  void report_sent(const std::vector<std::string>& keys) const;
  // Tells the observer, if any, when these gradients are reduced.
  Sent watched(Future<void> reduced, std::vector<std::string> keys) const;
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
