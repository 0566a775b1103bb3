// SPDX-License-Identifier: Apache-2.0
// A FrameStream sends and receives frames over the socket between two ranks: a
// header, then its bytes. No call blocks: data without room is written later,
// and reads take the arrived bytes.
//
// One thread drives it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "horovodpp/transport/local/socket.h"

namespace hvd::transport {

enum class FrameKind : std::uint32_t { kMail = 1, kExchange = 2, kData = 3 };

struct FrameHeader {
  FrameKind kind = FrameKind::kMail;
  std::uint32_t epoch = 0;     // Data frames only.
  std::uint32_t sequence = 0;  // Data frames only.
  std::uint32_t unused = 0;
  std::uint64_t bytes = 0;  // Length of the body.
  std::array<std::uint64_t, 5> padding = {};
};
// The system copies a frame to the beginning of a page, and so the body behind
// the header. From a page-aligned source, AMD's Zen 3 copies at a fifteenth of
// its speed to a place 1 to 31 bytes behind a page's beginning.
static_assert(sizeof(FrameHeader) == 64);

// Receives the frames.
class FrameReader {
 public:
  virtual ~FrameReader() = default;
  // Memory for the bytes of this frame, as large as the header says; nullptr:
  // they are collected for arrived().
  virtual std::byte* memory_for(int from, const FrameHeader& header) = 0;
  // The frame has arrived; `bytes` is empty if memory_for() gave memory.
  virtual void arrived(int from, const FrameHeader& header,
                       std::string bytes) = 0;
};

class FrameStream {
 public:
  // `reader` is borrowed.
  FrameStream(int peer, OwnedDescriptor socket, FrameReader& reader);

  int descriptor() const { return socket_.number(); }
  // The other end is closed, and everything from it has been read.
  bool is_at_end() const { return at_end_; }

  // Number of a frame being sent. Numbers rise by one.
  using Number = std::uint64_t;
  Number send(FrameHeader header, std::string bytes);
  // The bytes are borrowed until the frame was sent or owned().
  Number send_borrowed(FrameHeader header, std::span<const std::byte> bytes);
  // The whole frame has left this process, or the receiver is gone.
  bool was_sent(Number number) const { return number < first_; }
  bool has_unsent() const { return !unsent_.empty(); }
  // Copies the unsent rest of a frame, so the owner may reuse its memory.
  void own(Number number);

  absl::Status write();
  //   Internal  the peer sent an invalid frame
  absl::Status read();
  // Stops using the memory being read into; the rest of its frame is discarded.
  void release_memory();

 private:
  struct Frame {
    FrameHeader header;
    std::string own;
    std::span<const std::byte> bytes;  // Borrowed, or the bytes of `own`.
    std::size_t written = 0;           // Of header and bytes together.
  };

  Number push(Frame frame);
  void stop_sending();
  std::span<std::byte> place_for_body();
  void take_body(std::size_t came);
  absl::Status take(std::span<const std::byte> bytes);
  absl::Status begin_frame();
  void end_frame();

  const int peer_;
  OwnedDescriptor socket_;
  FrameReader& reader_;
  bool at_end_ = false;
  bool sends_ = true;  // The receiver is still there.

  std::deque<Frame> unsent_;
  Number first_ = 0;  // Number of the first in unsent_.

  FrameHeader header_;           // Header of the arriving frame,
  std::size_t header_read_ = 0;  // and the bytes of it read so far.
  std::uint64_t read_ = 0;       // Body bytes read.
  std::byte* memory_ = nullptr;  // Target of the body; nullptr: collected_.
  bool unwanted_ = false;
  std::string collected_;
};

}  // namespace hvd::transport
