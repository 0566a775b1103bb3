// SPDX-License-Identifier: Apache-2.0
// The object behind a Tensor handle: a storage, its geometry and, if autograd
// needs it, an AutogradMeta.
//
// Two reference counts: strong owners keep the contents, weak owners only the
// object. So a hook can refer to a tensor without keeping it alive. Geometry
// never changes; only an owner of the tensor changes the meta.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "horovodpp/core/dtype.h"
#include "horovodpp/core/export.h"
#include "horovodpp/core/thread/lockable.h"
#include "horovodpp/core/thread/spin_lock.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/base/intrusive_ptr.h"
#include "horovodpp/tensor/base/storage.h"
#include "horovodpp/tensor/base/thread_state.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class SavedTensor;
struct AutogradMeta;
struct AutogradMetaDeleter {
  void operator()(AutogradMeta* meta) const;
};

// The origin of a view, which decides whether a recorded operation may write to
// it in place. Graphs do not know a view made while nothing was recorded. A
// view that is one of several, or comes from a custom function, cannot be
// rewritten.
enum class ViewOrigin : std::uint8_t {
  kRecorded,  // Or no view.
  kUnrecorded,
  kUnrecordedOfGrad,  // The same, of a base that required grad.
  kInferenceMode,     // The same, under InferenceMode.
  kOneOfSeveral,
  kCustomFunction,
};

inline bool is_unrecorded(ViewOrigin origin) {
  return origin == ViewOrigin::kUnrecorded ||
         origin == ViewOrigin::kUnrecordedOfGrad ||
         origin == ViewOrigin::kInferenceMode;
}

class TensorImpl : public Pooled {
 public:
  TensorImpl(Ref<Storage> memory, DType type, const Dims& dims,
             const Dims& steps, std::int64_t start)
      : storage(std::move(memory)),
        offset(start),
        num_elements(dims.product()),
        shape(dims),
        strides(steps),
        dtype(type),
        contiguous(is_contiguous(dims, steps)),
        inference(thread_state.inference_mode) {}

  void retain() { counts_.fetch_add(kStrong, std::memory_order_relaxed); }
  void release() {
    // The only owner of either kind: no other thread can add one.
    if (counts_.load(std::memory_order_acquire) == kStrong + kWeak) {
      delete this;
      return;
    }
    const auto before = counts_.fetch_sub(kStrong, std::memory_order_acq_rel);
    if (before % kWeak == kStrong) {
      drop_contents();
      release_weak();
    }
  }
  bool unique() const {
    return counts_.load(std::memory_order_acquire) % kWeak == kStrong;
  }

  bool is_owned() const {
    return counts_.load(std::memory_order_acquire) % kWeak != 0;
  }

  void retain_weak() { counts_.fetch_add(kWeak, std::memory_order_relaxed); }
  void release_weak() {
    const auto before = counts_.fetch_sub(kWeak, std::memory_order_acq_rel);
    if (before / kWeak == 1) delete this;
  }
  // Turns a weak reference into a strong one, unless the contents are gone.
  bool try_retain();

  // Where the CPU finds the first element. Empty storage has no memory, yet
  // parts of it have offsets.
  //   NotOnCpuError  the memory is a GPU's: all code of the CPU learns of it here
  void* data() const {
    auto* const memory = static_cast<std::byte*>(storage->data());
    if (memory == nullptr) [[unlikely]]
      return no_data();
    return memory + static_cast<std::size_t>(offset) * size_of(dtype);
  }
  // The first element's address on its device.
  void* address() const {
    auto* const memory = static_cast<std::byte*>(storage->address());
    if (memory == nullptr) return nullptr;
    return memory + static_cast<std::size_t>(offset) * size_of(dtype);
  }

  Ref<Storage> storage;
  std::unique_ptr<AutogradMeta, AutogradMetaDeleter> meta;
  // Offset of the first element, in elements.
  std::int64_t offset;
  std::int64_t num_elements;
  Dims shape;
  Dims strides;
  DType dtype;
  bool contiguous;
  bool inference;  // Made under InferenceMode: never part of a graph.
  ViewOrigin view_origin = ViewOrigin::kRecorded;

  // SavedTensors that hold this tensor or its views (saved_tensor.h).
  SpinLock savers_lock;
  SavedTensor* savers HVD_GUARDED_BY(savers_lock) = nullptr;

 private:
  void drop_contents();
  void* no_data() const;

  // One word, so that one load sees both counts. All strong owners together
  // count as one weak owner.
  static constexpr std::uint64_t kStrong = 1;
  static constexpr std::uint64_t kWeak = std::uint64_t{1} << 32;
  std::atomic<std::uint64_t> counts_{kStrong + kWeak};
};

}  // namespace autograd
}  // namespace hvd
