// SPDX-License-Identifier: Apache-2.0
// A primitive of oneDNN with reorders of those of its arguments that lie
// otherwise than it wants them.
//
// Immutable; may run on several threads at once. Its temporary memory comes
// from the allocator of tensors for the time of a run.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <span>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "horovodpp/core/dtype.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/core/threads.h"
#include "horovodpp/kernel/intra_op.h"

namespace hvd::autograd {

const dnnl::engine& dnnl_engine();

// What every primitive is made with: memory for its scratchpad is given to it,
// since oneDNN's own belongs to the thread that made the primitive.
const dnnl::primitive_attr& dnnl_attributes();

// float32 or bfloat16; none for other types, and for bfloat16 on processors on
// which oneDNN would be slow at it.
std::optional<dnnl::memory::data_type> dnnl_type(DType dtype);

class DnnlRoutine {
 public:
  struct Argument {
    int name;  // DNNL_ARG_…
    dnnl::memory::desc given;
    dnnl::memory::desc wanted;
    bool is_result = false;
  };

  DnnlRoutine(const dnnl::primitive& primitive,
              const dnnl::memory::desc& scratchpad,
              std::span<const Argument> arguments);

  // `memory[i]` is that of argument i, and lies as `given` says.
  //   hvd::Error  oneDNN failed
  void run(std::span<void* const> memory) const;

  const dnnl::memory::desc& wanted(std::size_t i) const {
    return slots_[i].argument.wanted;
  }

 private:
  struct Slot {
    Argument argument;
    std::optional<dnnl::reorder> reorder;  // If given is not wanted.
    dnnl::memory::desc scratchpad;         // What that needs.
    std::size_t offset = 0;                // Of the reordered, in the arena.
  };

  void execute(std::span<void* const> memory, std::byte* arena) const;
  std::size_t place(std::size_t bytes);

  dnnl::primitive primitive_;
  dnnl::memory::desc scratchpad_;
  std::size_t scratchpad_offset_ = 0;
  std::vector<Slot> slots_;
  std::size_t arena_bytes_ = 0;
};

// Routines that were made before, by what tells them apart: numbers. Of more
// than kMost it begins anew. Thread-safe.
class DnnlCache {
 public:
  using Key = std::vector<std::int64_t>;
  // Null: there is no such routine.
  using Routine = std::shared_ptr<const DnnlRoutine>;

  // The routine of `key`, which `make()` makes if there is none yet.
  template <typename Make>
  Routine get(Key key, Make make) {
    key.push_back(chosen_num_threads());
    if (auto found = find(key)) return *found;
    // With as many threads as it will run with. Not under the lock: it may take
    // milliseconds.
    apply_threads_to_openmp();
    Routine made = make();
    keep(key, made);
    return made;
  }

 private:
  static constexpr std::size_t kMost = 1024;

  std::optional<Routine> find(const Key& key);
  void keep(const Key& key, const Routine& routine);

  Mutex mutex_;
  absl::flat_hash_map<Key, Routine> routines_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::autograd
