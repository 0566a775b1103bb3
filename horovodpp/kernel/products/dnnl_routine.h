// SPDX-License-Identifier: Apache-2.0
// A DnnlRoutine is a oneDNN primitive, with reorders for arguments that are not
// in the layout of the primitive.
//
// Immutable; may run on several threads at once. Each run takes its temporary
// memory from the tensor allocator.
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
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/core/thread/threads.h"
#include "horovodpp/kernel/intra_op.h"

namespace hvd::autograd {

const dnnl::engine& dnnl_engine();

// Attributes of every primitive. The caller supplies the scratchpad, because
// oneDNN's own belongs to the thread that created the primitive.
const dnnl::primitive_attr& dnnl_attributes();

// float32 or bfloat16; nullopt for other types, and for bfloat16 on processors
// where oneDNN would be slow.
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

  // `memory[i]` belongs to argument i, in the layout `given`.
  //   hvd::Error  oneDNN failed
  void run(std::span<void* const> memory) const;

  const dnnl::memory::desc& wanted(std::size_t i) const {
    return slots_[i].argument.wanted;
  }

 private:
  struct Slot {
    Argument argument;
    std::optional<dnnl::reorder> reorder;  // Set if given differs from wanted.
    dnnl::memory::desc scratchpad;         // Scratchpad of the reorder.
    std::size_t offset = 0;  // Of the reordered memory, in the arena.
  };

  void execute(std::span<void* const> memory, std::byte* arena) const;
  std::size_t place(std::size_t bytes);

  dnnl::primitive primitive_;
  dnnl::memory::desc scratchpad_;
  std::size_t scratchpad_offset_ = 0;
  std::vector<Slot> slots_;
  std::size_t arena_bytes_ = 0;
};

// A cache of routines under numeric keys. Cleared when it exceeds kMost.
// Thread-safe.
class DnnlCache {
 public:
  using Key = std::vector<std::int64_t>;
  // Null: there is no such routine.
  using Routine = std::shared_ptr<const DnnlRoutine>;

  // The routine of `key`, made by `make()` on first use.
  template <typename Make>
  Routine get(Key key, Make make) {
    key.push_back(chosen_num_threads());
    if (auto found = find(key)) return *found;
    // Make the routine for the thread count it will run with. Outside the lock,
    // because it may take milliseconds.
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
