// SPDX-License-Identifier: Apache-2.0
// NcclWindows are the memory that ranks have registered with a communicator, and say
// where tensors lie in it. NCCL wants a tensor in a window at the same place on all
// ranks, or on none in any: so ranks compare what they pass by its mark.
//
//   NcclWhereabouts where(windows);
//   where.add(tensor, bytes);
//   ... where.mark() is equal on all ranks: NCCL takes it ...
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/core/dtype.h"

namespace hvd::collective {

class NcclWindows {
 public:
  // The next one; all ranks add theirs in one order.
  void add(const std::byte* memory, std::size_t bytes) {
    all_.push_back({memory, bytes});
  }
  bool empty() const { return all_.empty(); }

  struct Place {
    std::size_t window;
    std::size_t offset;
  };
  // nullopt: it lies in none.
  std::optional<Place> find(const void* memory, std::size_t bytes) const;

  // The same with pieces that follow each other in a window as one. All of them lie in
  // windows.
  std::vector<Piece> joined(std::span<const Piece> pieces, DType dtype) const;

 private:
  struct Window {
    const std::byte* memory;
    std::size_t bytes;
  };
  std::vector<Window> all_;
};

class NcclWhereabouts {
 public:
  // `windows` outlives this.
  explicit NcclWhereabouts(const NcclWindows& windows) : windows_(windows) {}

  void add(const void* memory, std::size_t bytes);

  // Of all that was added, in order.
  std::uint64_t mark() const { return mark_; }
  // Whether all of it lies in windows, and there is some.
  bool is_within() const { return any_ && !is_outside_; }

 private:
  const NcclWindows& windows_;
  std::uint64_t mark_ = 0;
  bool any_ = false;
  bool is_outside_ = false;
};

}  // namespace hvd::collective
