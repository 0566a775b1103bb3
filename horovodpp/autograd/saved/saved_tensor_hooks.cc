// SPDX-License-Identifier: Apache-2.0
// SavedTensorHooks of saved_tensor.h.
#include <any>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/autograd/saved/external_saved_tensor.h"
#include "horovodpp/autograd/saved/saved_tensor.h"

namespace hvd::autograd {
namespace {

// One tensor in the form of its pack hook.
class PackedTensor final : public ExternalSavedTensor {
 public:
  PackedTensor(SavedTensorHooks& hooks, const Tensor& tensor)
      : ExternalSavedTensor(tensor),
        hooks_(Ref<SavedTensorHooks>::share(&hooks)),
        object_(hooks.pack(tensor)) {}

  // The tensor itself, or its elements detached: history made by hooks is
  // dropped.
  Tensor restore(std::uint32_t place, Node& node) override {
    Tensor unpacked = hooks_->unpack(object_);
    if (!unpacked.defined()) {
      throw HookError(absl::StrCat(
          "a saved-tensor unpack hook returned an undefined tensor where ",
          node.name(), " needs its saved tensor"));
    }
    const Tensor saved = original(place);
    const bool is_it = saved.defined() && unpacked.is_same(saved);
    return is_it || !unpacked.requires_grad() ? unpacked : unpacked.detach();
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

SavedTensorStore::Kept SavedTensorHooks::keep(const Tensor& tensor) {
  return {Ref<PackedTensor>::adopt(new PackedTensor(*this, tensor)), 0};
}

}  // namespace hvd::autograd
