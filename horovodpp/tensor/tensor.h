// SPDX-License-Identifier: Apache-2.0
// A Tensor is a handle on an n-dimensional array that may take part in a graph
// of differentiable operations.
//
//   hvd::Tensor x = hvd::from_vector<float>({1, 2, 3, 4}, {2, 2});
//   hvd::Tensor w = hvd::full({}, 3).set_requires_grad(true);
//   hvd::Tensor loss = (x * w).mean();
//   loss.backward();
//   float slope = w.grad().item<float>();   // 2.5
//
// Copies are handles to the same array; clone() copies the elements. Several
// threads may use a tensor while none changes its elements, grad or hooks.
// Concurrent backward calls add to the gradient of one leaf one after the
// other.
//
// Misuse, such as any use of an undefined tensor, throws InvalidArgument. An
// operation that the graph forbids throws a subclass of autograd::AutogradError
// (autograd/graph/error.h).
//
// This header, in the lowest layer that has tensors, declares all methods. The
// layer that implements them defines them: memory in this folder (tensor.cc,
// tensor_elements.cc, print.cc), the graph in autograd/tensor_graph.cc,
// operations in ops/tensor_methods.cc and ops/inplace_ops.cc. So a lower layer
// can call x.to(dtype) without including a higher one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "horovodpp/core/device.h"
#include "horovodpp/core/dtype.h"
#include "horovodpp/core/export.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/base/hook_handle.h"
#include "horovodpp/tensor/base/intrusive_ptr.h"
#include "horovodpp/tensor/tensor_impl.h"

namespace HVD_EXPORT hvd {

namespace autograd {
class Index;
class Node;
struct BackwardOptions;
}  // namespace autograd

// How to() copies between devices.
struct Transfer {
  // Whether a copy from or to pinned memory returns before it is done. The
  // program does not write the source, or read the result on the CPU, before it
  // has synchronized this thread's stream.
  bool non_blocking = false;
};

class Tensor {
 public:
  using Dims = autograd::Dims;

  // An undefined tensor: no memory, no shape.
  Tensor() = default;
  bool defined() const { return static_cast<bool>(impl_); }

  // Geometry. Strides count elements.
  const Dims& shape() const { return self().shape; }
  const Dims& strides() const { return self().strides; }
  std::int64_t size(std::int64_t dim) const;
  std::int64_t dim() const {
    return static_cast<std::int64_t>(self().shape.size());
  }
  std::int64_t num_elements() const { return self().num_elements; }
  std::int64_t storage_offset() const { return self().offset; }
  DType dtype() const { return self().dtype; }
  Device device() const { return self().storage->device(); }
  bool is_contiguous() const { return self().contiguous; }
  std::size_t bytes() const {
    return static_cast<std::size_t>(num_elements()) * size_of(dtype());
  }

  // Memory. Writes through a pointer or view do not change the version. item(),
  // to_vector() and to_string() copy from a GPU; tensor_view() gives its
  // address.
  //   InvalidArgument  T is not the dtype; for view, item and to_vector: the
  //                    tensor is not contiguous, or not of one element; for
  //                    data and raw_data: it is on a GPU
  template <typename T>
  T* data() const {
    check_dtype(dtype_of<std::remove_const_t<T>>);
    return static_cast<T*>(self().data());
  }
  void* raw_data() const { return self().data(); }
  // Its address on its device.
  void* address() const { return self().address(); }
  TensorView tensor_view() const;
  template <typename T>
  T item() const;
  // All elements in row-major order, for any strides.
  template <typename T>
  std::vector<T> to_vector() const;
  // "float32[2,2]", as in messages.
  std::string describe() const;
  // "float32[2,2] [[1, 2], [3, 4]]"; long dimensions are cut.
  std::string to_string() const;

  // The number of in-place writes to this memory.
  //   InferenceError  the tensor was made under InferenceMode
  std::uint32_t version() const {
    if (self().inference) throw_no_version();
    return self().storage->version();
  }
  bool is_inference() const { return self().inference; }
  // Counts a write made through a pointer.
  void bump_version() const { self().storage->bump_version(); }
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }

  // --- Autograd: autograd/tensor_graph.cc ---
  // Whether gradients flow to or through this tensor.
  bool requires_grad() const {
    return self().meta != nullptr && meta_requires_grad();
  }
  //   InvalidArgument  true for a dtype that is not floating point
  //   AutogradError    false for the result of an operation
  Tensor& set_requires_grad(bool value);
  // Whether it is not the result of a recorded operation.
  bool is_leaf() const;
  // The operation that produced it; null for a leaf.
  autograd::Ref<autograd::Node> grad_fn() const;
  // Its number among the results of that operation.
  std::uint32_t output_nr() const;

  // The gradient accumulated so far, or undefined. For a non-leaf: only after
  // retain_grad().
  Tensor grad() const;
  //   InvalidArgument  shape, dtype or device differ from this tensor's; `grad` is
  //                    this tensor, or owns it
  void set_grad(const Tensor& grad) const;
  // Keeps the gradient of a non-leaf in grad().
  void retain_grad() const;
  bool retains_grad() const;

  // Calls `hook(gradient)` in a backward once the full gradient of this tensor
  // is known. A tensor that the hook returns replaces the gradient. The hook
  // lives until its handle removes it or the tensor and its graph are
  // destroyed.
  //   HookError  the tensor does not require grad
  template <typename Hook>
  autograd::HookHandle register_hook(Hook hook) const {
    if constexpr (std::is_void_v<std::invoke_result_t<Hook&, const Tensor&>>) {
      return add_hook([hook = std::move(hook)](const Tensor& gradient) mutable {
        hook(gradient);
        return Tensor();
      });
    } else {
      return add_hook(std::move(hook));
    }
  }

  // Calls `hook(leaf)` once per backward that gives this leaf a gradient, after
  // the last addition to grad().
  //   HookError  the tensor is not a leaf that requires grad
  autograd::HookHandle register_post_accumulate_grad_hook(
      std::function<void(const Tensor&)> hook) const;

  // Adds the gradient of this tensor to the grad() of every leaf it depends on.
  // `gradient` is the incoming gradient; default: 1, for a tensor of one
  // element. See engine.h for options and errors.
  void backward(const Tensor& gradient = Tensor()) const;
  void backward(const Tensor& gradient,
                const autograd::BackwardOptions& options) const;

  // The same memory and version without history.
  Tensor detach() const;
  // Drops the history: the tensor becomes a leaf that does not require grad.
  //   AutogradError  the tensor is a view
  Tensor& detach_();
  // The same memory without history and with a separate version: the graph does
  // not detect writes. Use it only where that is harmless.
  Tensor data() const;

  // --- Operations: see horovodpp/ops.h ---
  Tensor sum() const;
  Tensor sum(const Dims& dims, bool keepdim = false) const;
  Tensor mean() const;
  Tensor mean(const Dims& dims, bool keepdim = false) const;
  Tensor exp() const;
  Tensor log() const;
  Tensor relu() const;
  Tensor matmul(const Tensor& other) const;
  Tensor log_softmax() const;
  Tensor argmax() const;
  Tensor argmax(std::int64_t dim, bool keepdim = false) const;
  Tensor to(DType dtype) const;
  // On `device`, as ops/shape_ops.h says.
  Tensor to(Device device, const Transfer& options = {}) const;
  Tensor clone() const;
  Tensor contiguous() const;
  Tensor reshape(const Dims& shape) const;
  Tensor view(const Dims& shape) const;
  Tensor transpose(std::int64_t dim0, std::int64_t dim1) const;
  Tensor t() const;  // At most 2 dimensions.
  Tensor permute(const Dims& order) const;
  Tensor expand(const Dims& shape) const;
  Tensor narrow(std::int64_t dim, std::int64_t start,
                std::int64_t length) const;
  Tensor select(std::int64_t dim, std::int64_t index) const;
  Tensor squeeze(std::int64_t dim) const;
  Tensor unsqueeze(std::int64_t dim) const;
  Tensor slice(std::int64_t dim, std::int64_t start, std::int64_t end,
               std::int64_t step = 1) const;
  std::vector<Tensor> split(std::int64_t size, std::int64_t dim = 0) const;
  std::vector<Tensor> chunk(std::int64_t chunks, std::int64_t dim = 0) const;
  std::vector<Tensor> unbind(std::int64_t dim = 0) const;
  // x[…] and x[…] = value: see ops/indices/index_ops.h.
  Tensor index(const std::vector<autograd::Index>& indices) const;
  const Tensor& index_put_(const std::vector<autograd::Index>& indices,
                           const Tensor& value) const;
  const Tensor& index_put_(const std::vector<autograd::Index>& indices,
                           double value) const;
  const Tensor& add_(const Tensor& other, double alpha = 1.0) const;
  const Tensor& add_(double value) const;
  const Tensor& sub_(const Tensor& other) const;
  const Tensor& mul_(const Tensor& other) const;
  const Tensor& mul_(double value) const;
  const Tensor& zero_() const;
  const Tensor& fill_(double value) const;
  const Tensor& copy_(const Tensor& source) const;
  const Tensor& relu_() const;
  const Tensor& exp_() const;
  const Tensor& sin_() const;
  const Tensor& operator+=(const Tensor& other) const { return add_(other); }
  const Tensor& operator+=(double value) const { return add_(value); }
  const Tensor& operator-=(const Tensor& other) const { return sub_(other); }
  const Tensor& operator*=(const Tensor& other) const { return mul_(other); }
  const Tensor& operator*=(double value) const { return mul_(value); }

  // --- For operations and the engine ---
  // A tensor of this geometry on the same storage, unknown to graphs.
  Tensor alias(const Dims& shape, const Dims& strides,
               std::int64_t offset) const;
  explicit Tensor(autograd::Ref<autograd::TensorImpl> impl)
      : impl_(std::move(impl)) {}
  autograd::TensorImpl* impl() const { return impl_.get(); }
  autograd::TensorImpl* leak() { return impl_.leak(); }

 private:
  autograd::TensorImpl& self() const {
    if (!impl_) throw_undefined();
    return *impl_.get();
  }
  [[noreturn]] static void throw_undefined();
  [[noreturn]] void throw_no_version() const;
  void check_dtype(DType expected) const {
    if (dtype() != expected) throw_other_dtype(expected);
  }
  [[noreturn]] void throw_other_dtype(DType expected) const;
  bool meta_requires_grad() const;
  autograd::HookHandle add_hook(
      std::function<Tensor(const Tensor&)> hook) const;

  autograd::Ref<autograd::TensorImpl> impl_;
};

// A weak reference to a tensor. Thread-safe.
class WeakTensor {
 public:
  WeakTensor() = default;
  explicit WeakTensor(const Tensor& tensor) : impl_(tensor.impl()) {
    if (impl_ != nullptr) impl_->retain_weak();
  }
  WeakTensor(const WeakTensor& other) : impl_(other.impl_) {
    if (impl_ != nullptr) impl_->retain_weak();
  }
  WeakTensor(WeakTensor&& other) noexcept
      : impl_(std::exchange(other.impl_, nullptr)) {}
  WeakTensor& operator=(WeakTensor other) noexcept {
    std::swap(impl_, other.impl_);
    return *this;
  }
  ~WeakTensor() {
    if (impl_ != nullptr) impl_->release_weak();
  }

  // The tensor, or an undefined tensor once it has no owner.
  Tensor lock() const {
    if (impl_ == nullptr || !impl_->try_retain()) return Tensor();
    return Tensor(autograd::Ref<autograd::TensorImpl>::adopt(impl_));
  }
  bool is_gone() const { return impl_ == nullptr || !impl_->is_owned(); }

 private:
  autograd::TensorImpl* impl_ = nullptr;
};

}  // namespace hvd
