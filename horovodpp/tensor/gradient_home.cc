// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/gradient_home.h"

#include <utility>

#include "horovodpp/tensor/base/storage.h"
#include "horovodpp/tensor/base/thread_state.h"

namespace hvd::autograd {

constinit std::atomic<int> GradientHome::count{0};

GradientHome::GradientHome(std::shared_ptr<void> memory, const Dims& shape,
                           const Dims& strides, DType dtype)
    : memory_(std::move(memory)),
      shape_(shape),
      strides_(strides),
      dtype_(dtype) {
  count.fetch_add(1, std::memory_order_relaxed);
}

GradientHome::~GradientHome() { count.fetch_sub(1, std::memory_order_relaxed); }

Tensor GradientHome::take() {
  if (is_taken_.exchange(true, std::memory_order_acquire)) return Tensor();
  auto storage = Storage::borrow(
      memory_.get(),
      static_cast<std::size_t>(shape_.product()) * size_of(dtype_),
      Device::cpu(), [self = shared_from_this()](void*) {
        self->is_taken_.store(false, std::memory_order_release);
      });
  return Tensor(Ref<TensorImpl>::adopt(
      new TensorImpl(std::move(storage), dtype_, shape_, strides_, 0)));
}

bool GradientHome::holds(const Tensor& tensor) const {
  return tensor.defined() && tensor.raw_data() == memory_.get() &&
         fits(tensor.shape(), tensor.strides(), tensor.dtype());
}

ExpectedGradients::ExpectedGradients()
    : before_(thread_state.expected_gradients) {
  thread_state.expected_gradients = this;
}
ExpectedGradients::~ExpectedGradients() {
  thread_state.expected_gradients = before_;
}

Tensor ExpectedGradients::make(const Dims& shape, const Dims& strides,
                               DType dtype) const {
  for (std::size_t i = 0; i < count_; ++i) {
    if (!homes_[i]->fits(shape, strides, dtype)) continue;
    Tensor made = homes_[i]->take();
    if (made.defined()) return made;
  }
  return Tensor();
}

}  // namespace hvd::autograd
