// SPDX-License-Identifier: Apache-2.0
// A PageHeap hands out large blocks of system memory, and keeps what is given
// back. It splits kept memory for smaller blocks and merges neighbors, so that a
// computation with blocks of many sizes holds little more than it uses at once.
//
//   PageHeap heap(std::size_t{1} << 29);
//   void* block = heap.take(5 << 20);
//   heap.give(block, 5 << 20);       // `bytes` as in take()
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace hvd::autograd {

class PageHeap {
 public:
  // Keeps at most `most_kept` bytes that nobody uses.
  explicit PageHeap(std::size_t most_kept) : most_kept_(most_kept) {}
  // Blocks in use remain valid.
  ~PageHeap() { drain(); }
  PageHeap(const PageHeap&) = delete;
  PageHeap& operator=(const PageHeap&) = delete;

  // A block aligned to a page, of more than 0 bytes. On huge pages if the system
  // has them: each page that a loop enters costs a look-up of its address, and
  // interrupts the reading ahead.
  //   std::bad_alloc  the system has none
  void* take(std::size_t bytes);
  void give(void* block, std::size_t bytes) noexcept;

  // Returns what nobody uses to the system.
  void drain() noexcept;

  std::size_t kept_bytes() const { return kept_bytes_; }

 private:
  using Place = std::byte*;
  using Range = std::map<Place, std::size_t>::iterator;

  void* take_kept(std::size_t bytes);
  void keep(Place begin, std::size_t bytes);
  void forget(Range range);

  const std::size_t most_kept_;
  std::size_t kept_bytes_ = 0;
  // The same ranges, no two of which are neighbors.
  std::map<Place, std::size_t> by_place_;
  std::set<std::pair<std::size_t, Place>> by_size_;
};

}  // namespace hvd::autograd
