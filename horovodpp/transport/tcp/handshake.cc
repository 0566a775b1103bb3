// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/tcp/handshake.h"

#include <sodium.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/memory/wire.h"
#include "horovodpp/core/status.h"

namespace hvd::transport {
namespace {

constexpr std::uint64_t kMagic = 0x3170637464766877;  // "whvdtcp1"
// Raised by each change of the bytes between processes.
constexpr std::uint32_t kProtocol = 1;
constexpr std::size_t kNonceBytes = 32;
constexpr std::size_t kGreetingBytes = 8 + 4 + 4 + 4 + kNonceBytes;

std::string greeting(const Caller& mine) {
  WireWriter writer;
  writer.u64(kMagic);
  writer.u32(kProtocol);
  writer.u32(static_cast<std::uint32_t>(mine.rank));
  writer.u32(mine.meeting);
  std::string bytes = writer.take();
  std::array<char, kNonceBytes> nonce;
  ::randombytes_buf(nonce.data(), nonce.size());
  bytes.append(nonce.data(), nonce.size());
  return bytes;
}

}  // namespace

Handshake::Handshake(const JobKey& key, Side side, const Caller& mine)
    : key_(key), side_(side), mine_(greeting(mine)) {
  unsent_ = mine_;
}

absl::StatusOr<bool> Handshake::proceed(int socket) {
  HVD_RETURN_IF_ERROR(send(socket));
  if (theirs_.empty()) {
    HVD_ASSIGN_OR_RETURN(const bool all, receive(socket, kGreetingBytes));
    if (!all) return false;
    HVD_RETURN_IF_ERROR(hear_greeting());
    HVD_RETURN_IF_ERROR(send(socket));
  }
  HVD_ASSIGN_OR_RETURN(const bool all, receive(socket, JobKey::kBytes));
  if (!all || !unsent_.empty()) return false;
  const Side other = side_ == Side::kCaller ? Side::kListener : Side::kCaller;
  const std::span proof(
      reinterpret_cast<const unsigned char*>(received_.data()),
      received_.size());
  if (!key_.verify(proven(other), proof)) {
    return absl::PermissionDeniedError(
        "a process that does not know the job's key is at the other end");
  }
  return true;
}

// A proof names the side that gives it, and holds for these two greetings only.
std::string Handshake::proven(Side by) const {
  const bool is_caller = side_ == Side::kCaller;
  return absl::StrCat(by == Side::kCaller ? "caller" : "listener",
                      is_caller ? mine_ : theirs_, is_caller ? theirs_ : mine_);
}

absl::Status Handshake::hear_greeting() {
  WireReader reader(received_);
  const bool is_ours = reader.u64() == kMagic;
  const std::uint32_t protocol = reader.u32();
  if (!is_ours || protocol != kProtocol) {
    return absl::FailedPreconditionError(
        is_ours ? absl::StrCat("a process of another version of horovodpp "
                               "(protocol ",
                               protocol, ", here ", kProtocol,
                               ") is at the other end: run one version on all "
                               "hosts")
                : "another program than horovodpp is at the other end");
  }
  other_.rank = static_cast<int>(reader.u32());
  other_.meeting = reader.u32();
  theirs_ = std::exchange(received_, "");
  const JobKey::Proof proof = key_.prove(proven(side_));
  unsent_.append(reinterpret_cast<const char*>(proof.data()), proof.size());
  return absl::OkStatus();
}

absl::Status Handshake::send(int socket) {
  while (!unsent_.empty()) {
    const ssize_t sent = ::send(socket, unsent_.data(), unsent_.size(),
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      // Not connected yet.
      if (errno == EAGAIN || errno == ENOTCONN) return absl::OkStatus();
      return absl::UnavailableError(errno_error("send").message());
    }
    unsent_.erase(0, static_cast<std::size_t>(sent));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Handshake::receive(int socket, std::size_t bytes) {
  while (received_.size() < bytes) {
    const std::size_t before = received_.size();
    received_.resize(bytes);
    const ssize_t got =
        ::recv(socket, received_.data() + before, bytes - before, MSG_DONTWAIT);
    const int error = errno;
    received_.resize(before + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got > 0) continue;
    if (got == 0) return absl::UnavailableError("the connection has ended");
    if (error == EINTR) continue;
    if (error == EAGAIN || error == ENOTCONN) return false;
    errno = error;
    return absl::UnavailableError(errno_error("recv").message());
  }
  return true;
}

}  // namespace hvd::transport
