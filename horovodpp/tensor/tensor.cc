// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/tensor.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/tensor/base/not_on_cpu.h"
#include "horovodpp/tensor/tensor_impl.h"

namespace hvd::autograd {

bool TensorImpl::try_retain() {
  std::uint64_t counts = counts_.load(std::memory_order_relaxed);
  while (counts % kWeak != 0) {
    if (counts_.compare_exchange_weak(counts, counts + kStrong,
                                      std::memory_order_acq_rel)) {
      return true;
    }
  }
  return false;
}

void* TensorImpl::no_data() const {
  if (storage->device().is_cpu()) return nullptr;
  throw NotOnCpuError(absl::StrCat(name_of(dtype), shape.to_string()),
                      storage->device());
}

void NotOnCpuError::rethrow(const NotOnCpuError& error, const char* operation) {
  if (error.names_operation()) throw NotOnCpuError(error);
  throw NotOnCpuError(
      absl::StrCat(operation, " has no code for GPUs: ", error.what()));
}

void TensorImpl::drop_contents() {
  meta.reset();
  storage = nullptr;
}

}  // namespace hvd::autograd

namespace hvd {
std::int64_t Tensor::size(std::int64_t dimension) const {
  return shape()[autograd::checked_dim(dimension, shape().size(), "size")];
}

void Tensor::throw_undefined() {
  throw InvalidArgument(
      "a tensor is undefined: it was default-constructed, or is the grad() of "
      "a tensor that has none");
}

void Tensor::throw_other_dtype(DType expected) const {
  throw InvalidArgument(
      absl::StrCat("a ", describe(), " cannot be read as ", name_of(expected)));
}

TensorView Tensor::tensor_view() const {
  if (!is_contiguous()) {
    throw InvalidArgument(absl::StrCat("tensor_view: a ", describe(),
                                       " with strides ", strides().to_string(),
                                       " is not contiguous; use contiguous()"));
  }
  return TensorView(self().address(), dtype(), shape().to_shape(), device());
}

std::string Tensor::describe() const {
  return absl::StrCat(name_of(dtype()), shape().to_string());
}

Tensor Tensor::alias(const Dims& shape, const Dims& strides,
                     std::int64_t offset) const {
  Tensor result(
      autograd::Ref<autograd::TensorImpl>::adopt(new autograd::TensorImpl(
          self().storage, dtype(), shape, strides, offset)));
  result.impl()->inference = self().inference;
  return result;
}

Tensor Tensor::detach() const {
  return alias(shape(), strides(), storage_offset());
}

Tensor Tensor::data() const {
  Tensor result = detach();
  result.impl()->storage = autograd::Storage::alias(self().storage);
  return result;
}

}  // namespace hvd
