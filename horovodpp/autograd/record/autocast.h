// SPDX-License-Identifier: Apache-2.0
// Autocast lets operations on this thread choose the dtype in which they
// compute, as long as an Autocast lives:
// - products (matmul, linear) cast float32 operands to the lower dtype;
// - operations that lose precision (exp, log, pow, sums, means, log_softmax,
//   losses) cast 16-bit operands to float32;
// - all others promote the dtypes of their operands (tensor/promotion.h), as
//   without autocast.
//
//   {
//     hvd::Autocast autocast(hvd::DType::kBF16);
//     loss = hvd::cross_entropy(model(images), labels);
//   }
//   loss.backward();          // gradients come in the parameters' dtype
//
// A leaf that requires grad is cast once per outermost scope, and again only
// after an in-place write. Scopes nest; an inner scope may switch autocast off.
#pragma once

#include <memory>
#include <vector>

#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

namespace autograd {
struct AutocastState;
}

struct AutocastOptions {
  bool enabled = true;
  bool cache_enabled = true;
};

class Autocast {
 public:
  //   InvalidArgument  the dtype is neither bfloat16 nor float16
  explicit Autocast(DType dtype = DType::kBF16,
                    const AutocastOptions& options = {});
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  std::unique_ptr<autograd::AutocastState> state_;
  autograd::AutocastState* outer_;
};

namespace autograd {

// The settings of the innermost scope, to restore later.
struct AutocastSetting {
  DType dtype = DType::kBF16;
  bool enabled = false;
  bool cache_enabled = true;

  friend bool operator==(const AutocastSetting&,
                         const AutocastSetting&) = default;
};
AutocastSetting current_autocast();

// --- For operations ---
inline bool is_autocast_active() { return graph_state.autocast != nullptr; }

// Whether x must be computed in float32; and x in that dtype.
bool autocast_widens(const Tensor& x);
Tensor autocast_wider(const Tensor& x);

// x in the lower dtype if x is floating and not float64; else x.
Tensor autocast_lower(const Tensor& x);

// Whether tensors must be promoted to a common dtype; and the promotion.
bool autocast_promotes(const Tensor& a, const Tensor& b);
void autocast_promote(Tensor& a, Tensor& b);

}  // namespace autograd
}  // namespace hvd
