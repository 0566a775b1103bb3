// SPDX-License-Identifier: Apache-2.0
// The methods of Tensor that call operations.

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/matmul_ops.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd {

Tensor Tensor::sum() const { return hvd::sum(*this); }
Tensor Tensor::sum(const Dims& dims, bool keepdim) const {
  return hvd::sum(*this, dims, keepdim);
}
Tensor Tensor::mean() const { return hvd::mean(*this); }
Tensor Tensor::mean(const Dims& dims, bool keepdim) const {
  return hvd::mean(*this, dims, keepdim);
}
Tensor Tensor::exp() const { return hvd::exp(*this); }
Tensor Tensor::log() const { return hvd::log(*this); }
Tensor Tensor::relu() const { return hvd::relu(*this); }
Tensor Tensor::matmul(const Tensor& other) const {
  return hvd::matmul(*this, other);
}
Tensor Tensor::log_softmax() const { return hvd::log_softmax(*this); }
Tensor Tensor::argmax() const { return hvd::argmax(*this); }
Tensor Tensor::argmax(std::int64_t dim, bool keepdim) const {
  return hvd::argmax(*this, dim, keepdim);
}
Tensor Tensor::to(DType dtype) const { return hvd::to(*this, dtype); }
Tensor Tensor::to(Device device, const Transfer& options) const {
  return hvd::to(*this, device, options);
}
Tensor Tensor::clone() const { return hvd::clone(*this); }
Tensor Tensor::contiguous() const {
  return is_contiguous() ? *this : hvd::clone(*this);
}
Tensor Tensor::reshape(const Dims& shape) const {
  return hvd::reshape(*this, shape);
}
Tensor Tensor::view(const Dims& shape) const { return hvd::view(*this, shape); }
Tensor Tensor::transpose(std::int64_t dim0, std::int64_t dim1) const {
  return hvd::transpose(*this, dim0, dim1);
}
Tensor Tensor::t() const {
  if (dim() > 2) {
    throw InvalidArgument(absl::StrCat("t: ", describe(),
                                       " has more than 2 dimensions; use "
                                       "transpose()"));
  }
  return hvd::transpose(*this, 0, -1);
}
Tensor Tensor::permute(const Dims& order) const {
  return hvd::permute(*this, order);
}
Tensor Tensor::expand(const Dims& shape) const {
  return hvd::expand(*this, shape);
}
Tensor Tensor::narrow(std::int64_t dim, std::int64_t start,
                      std::int64_t length) const {
  return hvd::narrow(*this, dim, start, length);
}
Tensor Tensor::select(std::int64_t dim, std::int64_t index) const {
  return hvd::select(*this, dim, index);
}
Tensor Tensor::squeeze(std::int64_t dim) const {
  return hvd::squeeze(*this, dim);
}
Tensor Tensor::unsqueeze(std::int64_t dim) const {
  return hvd::unsqueeze(*this, dim);
}

Tensor Tensor::slice(std::int64_t dim, std::int64_t start, std::int64_t end,
                     std::int64_t step) const {
  return hvd::slice(*this, dim, start, end, step);
}
std::vector<Tensor> Tensor::split(std::int64_t size, std::int64_t dim) const {
  return hvd::split(*this, size, dim);
}
std::vector<Tensor> Tensor::chunk(std::int64_t chunks, std::int64_t dim) const {
  return hvd::chunk(*this, chunks, dim);
}
std::vector<Tensor> Tensor::unbind(std::int64_t dim) const {
  return hvd::unbind(*this, dim);
}

}  // namespace hvd
