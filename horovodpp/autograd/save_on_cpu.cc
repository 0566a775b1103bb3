// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/save_on_cpu.h"

#include <any>

#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/tensor_copy.h"

namespace hvd::autograd {
namespace {

struct OnHost {
  Tensor copy;
  Dims strides;  // Of the original.
  bool moved = false;
};

std::any pack(const Tensor& tensor, Allocator& host) {
  if (tensor.is_leaf() && tensor.requires_grad()) {
    return OnHost{tensor, tensor.strides(), false};
  }
  return OnHost{copy_of(tensor, host), tensor.strides(), true};
}

Tensor unpack(const std::any& packed) {
  const auto& [copy, strides, moved] = std::any_cast<const OnHost&>(packed);
  return moved ? copy_of(copy, cpu_allocator(), strides) : copy;
}

}  // namespace

SaveOnCpu::SaveOnCpu(Allocator& host)
    : scope_([&host](const Tensor& tensor) { return pack(tensor, host); },
             unpack) {}

}  // namespace hvd::autograd
