// SPDX-License-Identifier: Apache-2.0
// A HookHandle removes a hook: a user's function on a tensor, a node or a
// backward pass.
//
//   auto handle =
//       w.register_hook([](const hvd::Tensor& g) { return g * 0.5; });
//   ...
//   handle.remove();
//
// Destroying a handle leaves the hook in place. Removing twice is harmless, as
// is removing after the tensor is destroyed. Thread-safe.
#pragma once

#include <memory>
#include <utility>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class HookHandle {
 public:
  HookHandle() = default;

  // Stops calls of the hook, also within a running backward. Does not wait for
  // a call in progress.
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
