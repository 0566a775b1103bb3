// SPDX-License-Identifier: Apache-2.0
// NcclWindows is the memory that ranks have registered with a communicator; it
// finds the places of tensors in it. NCCL requires a tensor to lie at the same
// place of a window on all ranks, or in none on any. So ranks compare their
// tensors' places by a mark.
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
  // Adds the next window; all ranks add theirs in one order.
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

  // Joins pieces that follow each other in a window. All of them must lie in
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
  // `windows` outlives this object.
  explicit NcclWhereabouts(const NcclWindows& windows) : windows_(windows) {}

  void add(const void* memory, std::size_t bytes);

  // The mark of all added tensors, in order.
  std::uint64_t mark() const { return mark_; }
  // Whether all added tensors lie in windows, and there is at least one.
  bool is_within() const { return any_ && !is_outside_; }

 private:
  const NcclWindows& windows_;
  std::uint64_t mark_ = 0;
  bool any_ = false;
  bool is_outside_ = false;
};

}  // namespace hvd::collective
