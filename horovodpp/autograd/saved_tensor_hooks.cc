// SPDX-License-Identifier: Apache-2.0
// SavedTensorHooks of saved_tensor.h.
#include <any>
#include <string>
#include <utility>

#include "horovodpp/autograd/graph_state.h"
#include "horovodpp/autograd/saved_elsewhere.h"
#include "horovodpp/autograd/saved_tensor.h"

namespace hvd::autograd {
namespace {

// One tensor as a pair of hooks stores it.
class PackedTensor final : public SavedElsewhere {
 public:
  PackedTensor(SavedTensorHooks& hooks, const Tensor& tensor)
      : SavedElsewhere(tensor),
        hooks_(Ref<SavedTensorHooks>::share(&hooks)),
        object_(hooks.pack(tensor)) {}

  Tensor restore(std::uint32_t /*place*/, Node& /*node*/) override {
    return hooks_->unpack(object_);
  }

 private:
  const Ref<SavedTensorHooks> hooks_;
  const std::any object_;
};

}  // namespace

SavedTensorHooks::Disabled::Disabled(std::string reason)
    : reason_(std::move(reason)),
      outer_(graph_state.saved_tensor_hooks_forbidden) {
  graph_state.saved_tensor_hooks_forbidden = &reason_;
}

SavedTensorHooks::Disabled::~Disabled() {
  graph_state.saved_tensor_hooks_forbidden = outer_;
}

SavedTensorHooks::Scope::Scope(Pack pack, Unpack unpack)
    : hooks_(Ref<SavedTensorHooks>::adopt(
          new SavedTensorHooks(std::move(pack), std::move(unpack)))),
      scope_(*hooks_) {}

SavedTensorKeeper::Kept SavedTensorHooks::keep(const Tensor& tensor) {
  return {Ref<PackedTensor>::adopt(new PackedTensor(*this, tensor)), 0};
}

}  // namespace hvd::autograd
