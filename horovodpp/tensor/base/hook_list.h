// SPDX-License-Identifier: Apache-2.0
// A HookList holds the hooks of one tensor, node or module in order of
// registration. HookHandle removes them.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/tensor/base/hook_handle.h"

namespace hvd::autograd {

// Thread-safe: each run works on the hooks that were registered when it began
// and have not been removed since.
template <typename Hook>
class HookList {
 public:
  HookHandle add(Hook hook) {
    auto entry = std::make_shared<Entry>(std::move(hook));
    MutexLock lock(state_->mutex);
    state_->entries.push_back(entry);
    state_->count.store(state_->entries.size(), std::memory_order_release);
    return HookHandle(state_, entry);
  }

  bool empty() const {
    return state_->count.load(std::memory_order_acquire) == 0;
  }

  // Calls `visit(hook)` for each hook.
  template <typename Visit>
  void for_each(Visit visit) const {
    if (empty()) return;
    std::vector<std::shared_ptr<Entry>> entries;
    {
      MutexLock lock(state_->mutex);
      entries = state_->entries;
    }
    for (const auto& entry : entries) {
      if (!entry->removed.load(std::memory_order_acquire)) visit(entry->hook);
    }
  }

 private:
  struct Entry {
    explicit Entry(Hook h) : hook(std::move(h)) {}
    Hook hook;
    std::atomic<bool> removed{false};
  };
  struct State : HookHandle::Removable {
    void remove(const void* target) override {
      std::shared_ptr<Entry> dropped;  // Destroyed after the lock.
      MutexLock lock(mutex);
      auto found = std::find_if(entries.begin(), entries.end(),
                                [&](auto& e) { return e.get() == target; });
      if (found == entries.end()) return;
      (*found)->removed.store(true, std::memory_order_release);
      dropped = std::move(*found);
      entries.erase(found);
      count.store(entries.size(), std::memory_order_release);
    }
    Mutex mutex;
    std::vector<std::shared_ptr<Entry>> entries ABSL_GUARDED_BY(mutex);
    std::atomic<std::size_t> count{0};
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace hvd::autograd
