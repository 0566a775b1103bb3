// SPDX-License-Identifier: Apache-2.0
// Frames over the socket between two ranks: a header, then its bytes. Nothing
// blocks: what finds no room is written later, what has come so far is read.
//
// One thread drives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "horovodpp/transport/local_socket.h"

namespace hvd::transport {

enum class FrameKind : std::uint32_t { kMail = 1, kExchange = 2, kData = 3 };

struct FrameHeader {
  FrameKind kind = FrameKind::kMail;
  std::uint32_t epoch = 0;     // Of data.
  std::uint32_t sequence = 0;  // Of data.
  std::uint32_t unused = 0;
  std::uint64_t bytes = 0;  // That follow.
};

// Where frames end up.
class FrameReader {
 public:
  virtual ~FrameReader() = default;
  // The memory for the bytes of this frame, as many as it has; nullptr: they are
  // collected for arrived().
  virtual std::byte* memory_for(int from, const FrameHeader& header) = 0;
  // It is there; `bytes` is empty if they have a memory of their own.
  virtual void arrived(int from, const FrameHeader& header,
                       std::string bytes) = 0;
};

class FrameStream {
 public:
  // `reader` is borrowed.
  FrameStream(int peer, OwnedDescriptor socket, FrameReader& reader);

  int descriptor() const { return socket_.number(); }
  // The other end is closed, and all that came from it is read.
  bool is_at_end() const { return at_end_; }

  // A frame on its way. Numbers rise by one.
  using Number = std::uint64_t;
  Number send(FrameHeader header, std::string bytes);
  // The bytes are borrowed until the frame was sent, or owned().
  Number send_borrowed(FrameHeader header, std::span<const std::byte> bytes);
  // All of it has left this process, or there is nobody to send it to.
  bool was_sent(Number number) const { return number < first_; }
  bool has_unsent() const { return !unsent_.empty(); }
  // Copies what is left of a frame, so that its memory is its owner's again.
  void own(Number number);

  absl::Status write();
  // Internal: the peer sent something senseless.
  absl::Status read();
  // The memory that is being read into is somebody else's again: what is left of
  // its frame goes nowhere.
  void leave_memory_alone();

 private:
  struct Frame {
    FrameHeader header;
    std::string own;
    std::span<const std::byte> bytes;  // Borrowed, or those of `own`.
    std::size_t written = 0;           // Of header and bytes.
  };

  Number push(Frame frame);
  void stop_sending();
  absl::Status begin_frame();
  void end_frame();

  const int peer_;
  OwnedDescriptor socket_;
  FrameReader& reader_;
  bool at_end_ = false;
  bool sends_ = true;  // There is somebody to send to.

  std::deque<Frame> unsent_;
  Number first_ = 0;  // Of unsent_.

  FrameHeader header_;           // Of the frame that arrives,
  std::size_t header_read_ = 0;  // as far as it has.
  std::uint64_t read_ = 0;       // Of its bytes.
  std::byte* memory_ = nullptr;  // For them; else they are collected.
  bool unwanted_ = false;
  std::string collected_;
};

}  // namespace hvd::transport
