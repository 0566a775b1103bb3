// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/local/frame_stream.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/system/failpoints.h"

namespace hvd::transport {
namespace {

// Bytes that one call reads into growing memory.
constexpr std::size_t kPiece = 256 << 10;
// Most bytes that one call reads beyond the arriving frame.
constexpr std::size_t kAhead = 32 << 10;
// Most bytes that read() takes, so that it stays short.
constexpr std::size_t kTurn = 4 << 20;

bool is_known(FrameKind kind) {
  return kind == FrameKind::kMail || kind == FrameKind::kExchange ||
         kind == FrameKind::kData;
}

// Whether a call failed because the other end is gone.
bool says_closed(int error) {
  return error == EPIPE || error == ECONNRESET || error == ENOTCONN;
}

}  // namespace

FrameStream::FrameStream(int peer, OwnedDescriptor socket, FrameReader& reader)
    : peer_(peer), socket_(std::move(socket)), reader_(reader) {}

FrameStream::Number FrameStream::send(FrameHeader header, std::string bytes) {
  header.bytes = bytes.size();
  return push({.header = header, .own = std::move(bytes), .bytes = {}});
}

FrameStream::Number FrameStream::send_borrowed(
    FrameHeader header, std::span<const std::byte> bytes) {
  header.bytes = bytes.size();
  return push({.header = header, .own = {}, .bytes = bytes});
}

FrameStream::Number FrameStream::push(Frame frame) {
  const Number number = first_ + unsent_.size();
  if (!sends_) {
    ++first_;
    return number;
  }
  Frame& kept = unsent_.emplace_back(std::move(frame));
  if (!kept.own.empty()) kept.bytes = std::as_bytes(std::span(kept.own));
  return number;
}

void FrameStream::own(Number number) {
  if (was_sent(number)) return;
  Frame& frame = unsent_[static_cast<std::size_t>(number - first_)];
  if (!frame.own.empty() || frame.bytes.empty()) return;
  frame.own.assign(reinterpret_cast<const char*>(frame.bytes.data()),
                   frame.bytes.size());
  frame.bytes = std::as_bytes(std::span(frame.own));
}

void FrameStream::stop_sending() {
  sends_ = false;
  first_ += unsent_.size();
  unsent_.clear();
}

absl::Status FrameStream::write() {
  while (!unsent_.empty()) {
    Frame& frame = unsent_.front();
    std::array<iovec, 2> parts;
    std::size_t count = 0;
    const std::size_t of_header = std::min(frame.written, sizeof(frame.header));
    if (of_header < sizeof(frame.header)) {
      parts[count++] = {reinterpret_cast<char*>(&frame.header) + of_header,
                        sizeof(frame.header) - of_header};
    }
    const std::size_t of_bytes = frame.written - of_header;
    if (of_bytes < frame.bytes.size()) {
      parts[count++] = {const_cast<std::byte*>(frame.bytes.data()) + of_bytes,
                        frame.bytes.size() - of_bytes};
    }
    msghdr message = {};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    HVD_RETURN_IF_ERROR(pass_failpoint(Failpoint::kStreamSend));
    const ssize_t written =
        ::sendmsg(socket_.number(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) return absl::OkStatus();
      if (!says_closed(errno)) return errno_error("sendmsg");
      stop_sending();
      return absl::OkStatus();
    }
    frame.written += static_cast<std::size_t>(written);
    if (frame.written < sizeof(frame.header) + frame.bytes.size()) continue;
    unsent_.pop_front();
    ++first_;
  }
  return absl::OkStatus();
}

// A call reads the rest of the arriving frame into its place, and later frames
// into memory from which they are copied. So short frames take one call
// together, and most bytes of long frames are not copied.
absl::Status FrameStream::read() {
  std::array<std::byte, kAhead> ahead;
  std::size_t this_turn = 0;
  while (!at_end_ && this_turn < kTurn) {
    const std::span<std::byte> place = place_for_body();
    std::array<iovec, 2> parts = {
        {{place.data(), place.size()}, {ahead.data(), ahead.size()}}};
    msghdr message = {};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t got = ::recvmsg(socket_.number(), &message, MSG_DONTWAIT);
    const int error = errno;
    const auto came = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    take_body(std::min(came, place.size()));
    if (came > place.size()) {
      HVD_RETURN_IF_ERROR(take(std::span(ahead).first(came - place.size())));
    }
    this_turn += came;
    if (got > 0 && came == place.size() + ahead.size()) continue;
    if (got > 0) return absl::OkStatus();  // All that was there.
    if (got == 0 || says_closed(error)) {
      at_end_ = true;
      stop_sending();
    } else if (error != EINTR) {
      errno = error;
      return error == EAGAIN ? absl::OkStatus() : errno_error("recvmsg");
    }
  }
  return absl::OkStatus();
}

// Where the next bytes of the arriving frame's body belong; empty if its header
// has not arrived.
std::span<std::byte> FrameStream::place_for_body() {
  if (header_read_ < sizeof(header_)) return {};
  const auto left = static_cast<std::size_t>(header_.bytes - read_);
  if (memory_ != nullptr) return {memory_ + read_, left};
  // Grow as data comes: the header may promise more than arrives.
  const auto kept = static_cast<std::size_t>(unwanted_ ? 0 : read_);
  if (unwanted_ || collected_.size() == kept) {
    collected_.resize(kept + std::min(left, kPiece));
  }
  return std::as_writable_bytes(std::span(collected_)).subspan(kept);
}

void FrameStream::take_body(std::size_t came) {
  if (came == 0) return;
  read_ += came;
  if (read_ == header_.bytes) end_frame();
}

// Takes in bytes that were read ahead of their frame.
absl::Status FrameStream::take(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    std::size_t taken = 0;
    if (header_read_ < sizeof(header_)) {
      taken = std::min(bytes.size(), sizeof(header_) - header_read_);
      std::memcpy(reinterpret_cast<std::byte*>(&header_) + header_read_,
                  bytes.data(), taken);
      header_read_ += taken;
      if (header_read_ == sizeof(header_)) HVD_RETURN_IF_ERROR(begin_frame());
    } else {
      const std::span<std::byte> place = place_for_body();
      taken = std::min(bytes.size(), place.size());
      std::memcpy(place.data(), bytes.data(), taken);
      take_body(taken);
    }
    bytes = bytes.subspan(taken);
  }
  return absl::OkStatus();
}

absl::Status FrameStream::begin_frame() {
  if (!is_known(header_.kind)) {
    at_end_ = true;
    stop_sending();
    return absl::InternalError(
        absl::StrCat("rank ", peer_, " sent a frame of the unknown kind ",
                     static_cast<std::uint32_t>(header_.kind),
                     "; do all ranks run the same version of horovodpp?"));
  }
  memory_ = reader_.memory_for(peer_, header_);
  if (header_.bytes == 0) end_frame();
  return absl::OkStatus();
}

void FrameStream::end_frame() {
  if (!unwanted_) reader_.arrived(peer_, header_, std::move(collected_));
  header_read_ = 0;
  read_ = 0;
  memory_ = nullptr;
  unwanted_ = false;
  collected_ = {};
}

void FrameStream::release_memory() {
  if (memory_ == nullptr) return;
  memory_ = nullptr;
  unwanted_ = true;
}

}  // namespace hvd::transport
