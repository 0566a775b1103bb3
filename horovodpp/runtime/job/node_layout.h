// SPDX-License-Identifier: Apache-2.0
// The layout of the memory that the ranks of a node share for a job. Its parts
// follow one another; each begins at a page boundary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hvd::runtime {

class NodeLayout {
 public:
  using Memory = std::span<std::byte>;

  NodeLayout(int local_size, std::uint32_t cache_capacity);

  std::size_t bytes() const { return plane_.offset + plane_.bytes; }

  // The parts of `payload`, which has bytes() bytes.
  Memory board(Memory payload) const { return board_.of(payload); }
  Memory mail(Memory payload) const { return mail_.of(payload); }
  Memory messages(Memory payload) const { return messages_.of(payload); }
  Memory early_leave(Memory payload) const { return early_leave_.of(payload); }
  Memory lives(Memory payload) const { return lives_.of(payload); }
  Memory arenas(Memory payload) const { return arenas_.of(payload); }
  Memory plane(Memory payload) const { return plane_.of(payload); }

 private:
  struct Part {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    Memory of(Memory payload) const { return payload.subspan(offset, bytes); }
    Part followed_by(std::size_t next_bytes) const;
  };

  Part board_;
  Part mail_;
  Part messages_;
  Part early_leave_;
  Part lives_;
  Part arenas_;
  Part plane_;
};

}  // namespace hvd::runtime
