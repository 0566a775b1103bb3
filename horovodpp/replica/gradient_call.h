// SPDX-License-Identifier: Apache-2.0
// A GradientCall is the allreduce of one single gradient, in step after step.
// It submits by name or, if the gradient lies where it lay the last time, by a
// handle, which costs a fraction. Peers see no difference.
//
// Not thread-safe.
#pragma once

#include <memory>
#include <optional>

#include "horovodpp/core/tensor_view.h"
#include "horovodpp/replica/sent.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/runtime/settings/options.h"

namespace hvd::replica {

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

}  // namespace hvd::replica
