// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/node/mail.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace hvd::transport {
namespace {

constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);

// The rings of all pairs of 64 ranks take 10 MB.
std::size_t room_of(int local_size, NodeMail::Pairs pairs) {
  constexpr std::size_t kKilobyte = 1024;
  if (pairs == NodeMail::Pairs::kOfLeader) return 64 * kKilobyte;
  if (local_size <= 8) return 16 * kKilobyte;
  return local_size <= 32 ? 4 * kKilobyte : 2 * kKilobyte;
}

std::size_t count(int number) { return static_cast<std::size_t>(number); }

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
  // Bytes follow.
  char* bytes() { return reinterpret_cast<char*>(this + 1); }

  void copy_in(std::uint64_t at, const char* from, std::size_t length,
               std::size_t room) {
    const std::size_t offset = at % room;
    const std::size_t first = std::min(length, room - offset);
    std::memcpy(bytes() + offset, from, first);
    std::memcpy(bytes(), from + first, length - first);
  }
};

std::size_t NodeMail::bytes_needed(int local_size, Pairs pairs) {
  const std::size_t ring = sizeof(Ring) + room_of(local_size, pairs);
  const std::size_t others = count(local_size - 1);
  if (pairs == Pairs::kOfLeader) return ring * 2 * others;
  return sizeof(Arrived) * count(local_size) +
         ring * others * count(local_size);
}

NodeMail::Ring& NodeMail::ring_at(std::span<std::byte> region,
                                  std::size_t index) const {
  std::byte* const at = region.data() + index * (sizeof(Ring) + room_);
  return *reinterpret_cast<Ring*>(at);
}

NodeMail::NodeMail(const NodeSegment& segment, std::span<std::byte> region,
                   Pairs pairs)
    : segment_(segment), room_(room_of(segment.local_size(), pairs)) {
  const int me = segment.local_rank();
  const int size = segment.local_size();
  const bool has_all = pairs == Pairs::kAll;
  if (has_all) {
    arrived_ = reinterpret_cast<Arrived*>(region.data());
    region = region.subspan(sizeof(Arrived) * count(size));
  }
  // All pairs: rank r writes the rings from r * (size - 1) on. Else the pair of
  // the leader and rank r has two rings, of which r writes the first.
  const auto ring_of = [&](int from, int to) -> Ring* {
    if (has_all) {
      const int place = to < from ? to : to - 1;
      return &ring_at(region, count(from * (size - 1) + place));
    }
    return &ring_at(region, count(from == 0 ? 2 * to - 1 : 2 * from - 2));
  };
  for (int rank = 0; rank < size; ++rank) {
    if (rank == me || !(has_all || me == 0 || rank == 0)) continue;
    links_.push_back(
        {.peer = rank, .out = ring_of(me, rank), .in = ring_of(rank, me)});
  }
  listened_ = links_.size();
}

NodeMail::~NodeMail() = default;

NodeMail::Link* NodeMail::link_to(int local_rank) {
  const auto found =
      std::find_if(links_.begin(), links_.end(),
                   [&](const Link& link) { return link.peer == local_rank; });
  return found == links_.end() ? nullptr : &*found;
}

bool NodeMail::reaches(int local_rank) const {
  return std::any_of(links_.begin(), links_.end(),
                     [&](const Link& link) { return link.peer == local_rank; });
}

void NodeMail::post(int to, std::string bytes) {
  Link& link = *link_to(to);
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
  if (end - ring.read.load() > room_) return false;
  const auto length = static_cast<std::uint32_t>(message.size());
  ring.copy_in(at, reinterpret_cast<const char*>(&length), kLengthBytes, room_);
  ring.copy_in(at + kLengthBytes, message.data(), message.size(), room_);
  ring.written.store(end);
  wrote_to(link);
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
    const std::size_t free = room_ - (at - link.out->read.load());
    const std::size_t step =
        std::min(free, message.size() - link.written_of_first);
    if (step == 0) break;
    link.out->copy_in(at, message.data() + link.written_of_first, step, room_);
    link.out->written.store(at + step);
    wrote_to(link);
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
  const std::size_t offset = at % room_;
  const std::size_t first = std::min(there, room_ - offset);
  link.read.erase(0, std::exchange(link.given, 0));
  link.read.append(link.in->bytes() + offset, first);
  link.read.append(link.in->bytes(), there - first);
  link.in->read.store(at + there);
  if (link.in->room_is_wanted.load() != 0) {
    link.in->room_is_wanted.store(0);
    segment_.doorbell(link.peer).ring();
  }
}

// After the bytes, so that a reader that sees the bit finds them.
void NodeMail::wrote_to(const Link& link) {
  if (arrived_ == nullptr) return;
  arrived_[link.peer].from.fetch_or(std::uint64_t{1} << segment_.local_rank());
}

// Notes which links have mail.
void NodeMail::take_arrived() {
  std::atomic<std::uint64_t>& mine = arrived_[segment_.local_rank()].from;
  if (mine.load() == 0) return;
  const std::uint64_t from = mine.exchange(0);
  for (Link& link : links_) {
    const bool has_written = (from >> link.peer & 1) != 0;
    if (!has_written || std::exchange(link.may_have_mail, true)) continue;
    ++listened_;
  }
}

std::optional<NodeLetter> NodeMail::receive() {
  if (arrived_ != nullptr) {
    take_arrived();
    if (listened_ == 0) return std::nullopt;
  }
  for (std::size_t i = 0; i < links_.size(); ++i) {
    Link& link = links_[next_];
    next_ = (next_ + 1) % links_.size();
    if (!link.may_have_mail) continue;
    if (!has_letter(link)) read(link);
    if (!has_letter(link)) {
      if (arrived_ == nullptr) continue;
      link.may_have_mail = false;
      --listened_;
      continue;
    }
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
