#include "horovodpp/autograd/save_on_cpu.h"

#include <any>

#include "horovodpp/autograd/factories.h"
#include "horovodpp/autograd/kernels.h"
#include "horovodpp/autograd/ops.h"
#include "horovodpp/autograd/record.h"

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
                     tensor.sizes(), contiguous_strides(tensor.sizes()), 0)));
  convert_into(copy, tensor);
  return OnHost{std::move(copy), true};
}

Tensor unpack(const std::any& packed) {
  const auto& [copy, moved] = std::any_cast<const OnHost&>(packed);
  return moved ? hvd::clone(copy) : copy;
}

}  // namespace

SaveOnCpu::SaveOnCpu(Allocator& host)
    : scope_([&host](const Tensor& tensor) { return pack(tensor, host); },
             unpack) {}

}  // namespace hvd::autograd
