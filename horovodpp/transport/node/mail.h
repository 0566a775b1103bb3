// SPDX-License-Identifier: Apache-2.0
// NodeMail carries messages between ranks of a node through shared memory:
// between the leader and the others, or between any two. Unlike mail over a
// Communicator, it needs no progress: a written message is available at once,
// and its reader is rung.
//
// Each pair has a byte ring per direction. A message longer than the free room
// goes in parts; flush() sends the rest. Driven by one thread per rank.
#pragma once

#include <atomic>
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
  // The pairs of ranks that have rings.
  enum class Pairs { kOfLeader, kAll };

  static std::size_t bytes_needed(int local_size,
                                  Pairs pairs = Pairs::kOfLeader);

  // `region` is a part of the segment's payload, aligned to 128 bytes. It is
  // the same memory on all ranks of the node, and starts as zeros.
  NodeMail(const NodeSegment& segment, std::span<std::byte> region,
           Pairs pairs = Pairs::kOfLeader);
  ~NodeMail();

  // Whether mail goes between this rank and `local_rank`: they differ, and have
  // rings.
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
  // A bit for each rank that has written to this one since it last looked. A
  // look at all rings would take long where there are many.
  struct alignas(128) Arrived {
    std::atomic<std::uint64_t> from;
  };
  // The two directions between this rank and one peer.
  struct Link {
    int peer = 0;
    Ring* out = nullptr;
    Ring* in = nullptr;
    std::deque<std::string> unwritten = {};
    std::size_t written_of_first = 0;
    bool is_to_ring = false;  // After post().
    bool may_have_mail = true;
    std::string read = {};  // Bytes taken out of the ring,
    std::size_t given = 0;  // and how many were handed out.
  };

  Ring& ring_at(std::span<std::byte> region, std::size_t index) const;
  Link* link_to(int local_rank);
  bool write_whole(Link& link, const std::string& message);
  bool write_parts(Link& link);
  void wrote_to(const Link& link);
  void take_arrived();
  bool flush(Link& link);
  void read(Link& link);
  static std::size_t length_of_next(const Link& link);
  static bool has_letter(const Link& link);

  const NodeSegment& segment_;
  const std::size_t room_;      // Bytes of a ring.
  Arrived* arrived_ = nullptr;  // By local rank; nullptr: look at all rings.
  std::vector<Link> links_;
  std::size_t listened_ = 0;   // Links that may have mail.
  std::size_t unwritten_ = 0;  // Messages, over all links.
  std::size_t next_ = 0;       // The link to read first next time.
};

}  // namespace hvd::transport
