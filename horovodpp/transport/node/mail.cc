// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/node/mail.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace hvd::transport {
namespace {

constexpr std::size_t kRingBytes = std::size_t{64} << 10;
constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);

std::string framed(const std::string& message) {
  const auto length = static_cast<std::uint32_t>(message.size());
  std::string frame(kLengthBytes, '\0');
  std::memcpy(frame.data(), &length, kLengthBytes);
  return frame + message;
}

}  // namespace

// Positions count bytes since the start. All zero bytes are an empty ring.
struct NodeMail::Ring {
  alignas(128) std::atomic<std::uint64_t> written;
  alignas(128) std::atomic<std::uint64_t> read;
  // 1 while the writer waits for room.
  alignas(128) std::atomic<std::uint64_t> room_is_wanted;
  alignas(128) char bytes[kRingBytes];

  void copy_in(std::uint64_t at, const char* from, std::size_t length) {
    const std::size_t offset = at % kRingBytes;
    const std::size_t first = std::min(length, kRingBytes - offset);
    std::memcpy(bytes + offset, from, first);
    std::memcpy(bytes, from + first, length - first);
  }
};

std::size_t NodeMail::bytes_needed(int local_size) {
  return sizeof(Ring) * 2 * static_cast<std::size_t>(local_size - 1);
}

NodeMail::NodeMail(const NodeSegment& segment, std::span<std::byte> region)
    : segment_(segment) {
  auto* rings = reinterpret_cast<Ring*>(region.data());
  const int me = segment.local_rank();
  for (int rank = 1; rank < segment.local_size(); ++rank) {
    Ring* to_leader = &rings[2 * (rank - 1)];
    Ring* from_leader = to_leader + 1;
    if (me == 0)
      links_.push_back({.peer = rank, .out = from_leader, .in = to_leader});
    if (me == rank)
      links_.push_back({.peer = 0, .out = to_leader, .in = from_leader});
  }
}

NodeMail::~NodeMail() = default;

bool NodeMail::reaches(int local_rank) const {
  const int me = segment_.local_rank();
  return local_rank != me && (me == 0 || local_rank == 0);
}

void NodeMail::post(int to, std::string bytes) {
  Link& link = segment_.local_rank() == 0
                   ? links_[static_cast<std::size_t>(to - 1)]
                   : links_.front();
  if (link.unwritten.empty() && write_whole(link, bytes)) {
    link.is_to_ring = true;
    return;
  }
  link.unwritten.push_back(framed(bytes));
  ++unwritten_;
  flush(link);
}

void NodeMail::ring() {
  for (Link& link : links_) {
    if (!std::exchange(link.is_to_ring, false)) continue;
    segment_.doorbell(link.peer).ring();
  }
}

// Writes the message if it fits whole; returns whether it did.
bool NodeMail::write_whole(Link& link, const std::string& message) {
  Ring& ring = *link.out;
  const std::uint64_t at = ring.written.load(std::memory_order_relaxed);
  const std::uint64_t end = at + kLengthBytes + message.size();
  if (end - ring.read.load() > kRingBytes) return false;
  const auto length = static_cast<std::uint32_t>(message.size());
  ring.copy_in(at, reinterpret_cast<const char*>(&length), kLengthBytes);
  ring.copy_in(at + kLengthBytes, message.data(), message.size());
  ring.written.store(end);
  return true;
}

bool NodeMail::flush() {
  bool all = true;
  for (Link& link : links_) all = flush(link) && all;
  return all;
}

bool NodeMail::flush(Link& link) {
  const std::size_t before = link.unwritten.size();
  bool wrote = write_parts(link);
  if (!link.unwritten.empty()) {
    // Check again: a reader that missed this store does not ring.
    link.out->room_is_wanted.store(1);
    wrote = write_parts(link) || wrote;
  }
  unwritten_ -= before - link.unwritten.size();
  if (wrote) segment_.doorbell(link.peer).ring();
  return link.unwritten.empty();
}

// Writes as much as fits; returns whether anything was written.
bool NodeMail::write_parts(Link& link) {
  bool wrote = false;
  while (!link.unwritten.empty()) {
    const std::string& message = link.unwritten.front();
    const std::uint64_t at = link.out->written.load(std::memory_order_relaxed);
    const std::size_t free = kRingBytes - (at - link.out->read.load());
    const std::size_t step =
        std::min(free, message.size() - link.written_of_first);
    if (step == 0) break;
    link.out->copy_in(at, message.data() + link.written_of_first, step);
    link.out->written.store(at + step);
    wrote = true;
    link.written_of_first += step;
    if (link.written_of_first == message.size()) {
      link.unwritten.pop_front();
      link.written_of_first = 0;
    }
  }
  return wrote;
}

void NodeMail::read(Link& link) {
  const std::uint64_t at = link.in->read.load(std::memory_order_relaxed);
  const std::size_t there = link.in->written.load() - at;
  if (there == 0) return;
  const std::size_t offset = at % kRingBytes;
  const std::size_t first = std::min(there, kRingBytes - offset);
  link.read.erase(0, std::exchange(link.given, 0));
  link.read.append(link.in->bytes + offset, first);
  link.read.append(link.in->bytes, there - first);
  link.in->read.store(at + there);
  if (link.in->room_is_wanted.load() != 0) {
    link.in->room_is_wanted.store(0);
    segment_.doorbell(link.peer).ring();
  }
}

std::optional<NodeLetter> NodeMail::receive() {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    Link& link = links_[next_];
    next_ = (next_ + 1) % links_.size();
    if (!has_letter(link)) read(link);
    if (!has_letter(link)) continue;
    const std::size_t length = length_of_next(link);
    NodeLetter letter{link.peer,
                      link.read.substr(link.given + kLengthBytes, length)};
    link.given += kLengthBytes + length;
    return letter;
  }
  return std::nullopt;
}

std::size_t NodeMail::length_of_next(const Link& link) {
  std::uint32_t length = 0;
  std::memcpy(&length, link.read.data() + link.given, kLengthBytes);
  return length;
}

bool NodeMail::has_letter(const Link& link) {
  const std::size_t there = link.read.size() - link.given;
  return there >= kLengthBytes && there - kLengthBytes >= length_of_next(link);
}

}  // namespace hvd::transport
