// SPDX-License-Identifier: Apache-2.0
// Autocast: while one lives, operations on this thread choose the dtype they
// compute in. Products (matmul, linear) take float32 operands in the lower
// dtype; what loses too much there (exp, log, pow, sums, means, log_softmax,
// losses) takes 16-bit operands in float32; operations of two tensors, and cat,
// take the wider of two floating dtypes; what is written in place keeps its own.
//
//   {
//     hvd::Autocast autocast(hvd::DType::kBF16);
//     loss = hvd::cross_entropy(model(images), labels);
//   }
//   loss.backward();          // gradients come in the parameters' dtype
//
// A leaf that requires grad is cast once per outermost scope, however often it
// is used, unless it is written in between. Scopes nest; an inner one may switch
// autocast off.
#pragma once

#include <memory>
#include <vector>

#include "horovodpp/autograd/graph_state.h"
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

// What the innermost scope says, to put it in force again later.
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

// Whether x is to be taken in float32, and that.
bool autocast_widens(const Tensor& x);
Tensor autocast_wider(const Tensor& x);

// x in the lower dtype, if it is float32; else x.
Tensor autocast_lower(const Tensor& x);

// Whether tensors are to be taken in the widest dtype of all, and that.
bool autocast_promotes(const Tensor& a, const Tensor& b);
void autocast_promote(Tensor& a, Tensor& b);
bool autocast_promotes(const std::vector<Tensor>& tensors);
std::vector<Tensor> autocast_promoted(std::vector<Tensor> tensors);

}  // namespace autograd
}  // namespace hvd
