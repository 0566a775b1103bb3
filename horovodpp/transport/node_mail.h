// SPDX-License-Identifier: Apache-2.0
// NodeMail carries messages between the leader of a node and its other ranks
// through the memory they share. Unlike mail over a Communicator it needs
// nobody's progress: what is written is there, and its reader is rung.
//
// Each pair has a ring of bytes per direction. A message longer than what is
// free goes in parts, the rest follows with flush(). Driven by one thread per
// rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/transport/node_segment.h"

namespace hvd::transport {

struct NodeLetter {
  int from = 0;  // Local rank.
  std::string bytes;
};

class NodeMail {
 public:
  static std::size_t bytes_needed(int local_size);

  // `region` is a part of the segment's payload, aligned to 128 bytes, that is
  // the same memory on all ranks of the node and starts as zeros.
  NodeMail(const NodeSegment& segment, std::span<std::byte> region);
  ~NodeMail();

  // Whether mail goes between this rank and `local_rank`: one of them leads,
  // and they are two.
  bool reaches(int local_rank) const;

  // Sends a message to `to`, which reaches() says it can; the bytes are taken
  // over.
  void send(int to, std::string bytes) {
    post(to, std::move(bytes));
    ring();
  }
  // The same, of which a sleeping `to` hears with the next ring().
  void post(int to, std::string bytes);
  void ring();

  // The next message that has arrived whole, if any.
  std::optional<NodeLetter> receive();

  // Writes what found no room so far; whether nothing is left.
  bool flush();
  bool has_unwritten() const { return unwritten_ > 0; }

 private:
  struct Ring;
  // The two directions between this rank and one peer.
  struct Link {
    int peer = 0;
    Ring* out = nullptr;
    Ring* in = nullptr;
    std::deque<std::string> unwritten = {};
    std::size_t written_of_first = 0;
    bool is_to_ring = false;  // For what was posted.
    std::string read = {};    // Out of the ring;
    std::size_t given = 0;    // so much of it has been given out.
  };

  static bool write_whole(Link& link, const std::string& message);
  static bool write_parts(Link& link);
  bool flush(Link& link);
  void read(Link& link);
  static std::size_t length_of_next(const Link& link);
  static bool has_letter(const Link& link);

  const NodeSegment& segment_;
  std::vector<Link> links_;
  std::size_t unwritten_ = 0;  // Messages, of all links.
  std::size_t next_ = 0;       // Whose turn it is to be read first.
};

}  // namespace hvd::transport
