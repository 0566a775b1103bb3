// SPDX-License-Identifier: Apache-2.0
// Hooks are functions that users hang onto tensors, nodes and backward passes.
// A HookHandle takes its hook off again:
//
//   auto handle =
//       w.register_hook([](const hvd::Tensor& g) { return g * 0.5; });
//   ...
//   handle.remove();
//
// Dropping a handle leaves the hook in place; removing twice is harmless, and
// so is removing after the tensor is gone. Thread-safe.
#pragma once

#include <memory>
#include <utility>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class HookHandle {
 public:
  HookHandle() = default;

  // From now on the hook is not called, not even by a backward that is under
  // way (a call that has begun is not waited for).
  void remove() {
    if (auto list = list_.lock()) list->remove(entry_.lock().get());
    list_.reset();
  }

 private:
  template <typename Hook>
  friend class HookList;
  struct Removable {
    virtual ~Removable() = default;
    virtual void remove(const void* entry) = 0;
  };
  HookHandle(std::weak_ptr<Removable> list, std::weak_ptr<void> entry)
      : list_(std::move(list)), entry_(std::move(entry)) {}

  std::weak_ptr<Removable> list_;
  std::weak_ptr<void> entry_;
};

}  // namespace autograd
}  // namespace hvd
