// SPDX-License-Identifier: Apache-2.0
// NodeMail carries messages between the leader of a node and its other ranks
// through shared memory. Unlike mail over a Communicator, it needs no progress:
// a written message is available at once, and its reader is rung.
//
// Each pair has a byte ring per direction. A message longer than the free room
// goes in parts; flush() sends the rest. Driven by one thread per rank.
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

#include "horovodpp/transport/node/segment.h"

namespace hvd::transport {

struct NodeLetter {
  int from = 0;  // Local rank.
  std::string bytes;
};

class NodeMail {
 public:
  static std::size_t bytes_needed(int local_size);

  // `region` is a part of the segment's payload, aligned to 128 bytes. It is
  // the same memory on all ranks of the node, and starts as zeros.
  NodeMail(const NodeSegment& segment, std::span<std::byte> region);
  ~NodeMail();

  // Whether mail goes between this rank and `local_rank`: they differ, and one
  // of them is the leader.
  bool reaches(int local_rank) const;

  // Sends a message to `to`, for which reaches() is true, and takes over its
  // bytes.
  void send(int to, std::string bytes) {
    post(to, std::move(bytes));
    ring();
  }
  // The same, but wakes a sleeping `to` only at the next ring().
  void post(int to, std::string bytes);
  void ring();

  // The next message that has arrived whole, if any.
  std::optional<NodeLetter> receive();

  // Writes pending messages; returns whether none is left.
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
    bool is_to_ring = false;  // After post().
    std::string read = {};    // Bytes taken out of the ring,
    std::size_t given = 0;    // and how many were handed out.
  };

  static bool write_whole(Link& link, const std::string& message);
  static bool write_parts(Link& link);
  bool flush(Link& link);
  void read(Link& link);
  static std::size_t length_of_next(const Link& link);
  static bool has_letter(const Link& link);

  const NodeSegment& segment_;
  std::vector<Link> links_;
  std::size_t unwritten_ = 0;  // Messages, over all links.
  std::size_t next_ = 0;       // The link to read first next time.
};

}  // namespace hvd::transport
