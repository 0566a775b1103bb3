// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/save_on_cpu.h"

#include <any>

#include "horovodpp/autograd/record.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {
namespace {

struct OnHost {
  Tensor copy;
  bool moved = false;
};

std::any pack(const Tensor& tensor, Allocator& host) {
  if (tensor.is_leaf() && tensor.requires_grad()) {
    return OnHost{tensor, false};
  }
  Tensor copy(Ref<TensorImpl>::adopt(
      new TensorImpl(Storage::allocate(tensor.bytes(), host), tensor.dtype(),
                     tensor.shape(), contiguous_strides(tensor.shape()), 0)));
  convert_into(copy, tensor);
  return OnHost{std::move(copy), true};
}

Tensor unpack(const std::any& packed) {
  const auto& [copy, moved] = std::any_cast<const OnHost&>(packed);
  return moved ? copy.clone() : copy;
}

}  // namespace

SaveOnCpu::SaveOnCpu(Allocator& host)
    : scope_([&host](const Tensor& tensor) { return pack(tensor, host); },
             unpack) {}

}  // namespace hvd::autograd
