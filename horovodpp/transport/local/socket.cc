// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/local/socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kLongestName = 60;
// Pause between two attempts to connect to a rank that does not listen yet.
constexpr milliseconds kBetweenCalls(1);

// The first message of a caller: its rank.
struct Hello {
  char magic[8] = {'h', 'v', 'd', 'l', 'o', 'c', 'a', 'l'};
  std::uint32_t version = 1;
  std::int32_t rank = 0;
};

struct Address {
  sockaddr_un socket = {};
  socklen_t bytes = 0;

  const sockaddr* get() const {
    return reinterpret_cast<const sockaddr*>(&socket);
  }
};

Address address_of(const std::string& name, int rank) {
  const std::string whole = absl::StrCat(name, ".", rank);
  Address address;
  address.socket.sun_family = AF_UNIX;
  // A leading zero byte makes the name abstract.
  whole.copy(address.socket.sun_path + 1, sizeof(address.socket.sun_path) - 1);
  address.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                         whole.size());
  return address;
}

OwnedDescriptor new_socket() {
  return OwnedDescriptor(
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

// The process at the other end, if it belongs to this user. Names are not
// secret, so the user is checked.
std::optional<pid_t> trusted_process(const OwnedDescriptor& socket) {
  ucred other = {};
  socklen_t bytes = sizeof(other);
  if (::getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &other, &bytes) !=
          0 ||
      other.uid != ::geteuid()) {
    return std::nullopt;
  }
  return other.pid;
}

// One rank's side of the meeting.
class Meeting {
 public:
  explicit Meeting(const LocalMeeting& terms)
      : terms_(terms), peers_(static_cast<std::size_t>(terms.size)) {}

  absl::StatusOr<std::vector<LocalPeer>> hold() {
    HVD_RETURN_IF_ERROR(listen());
    while (missing_ > 0) {
      for (int rank = 0; rank < terms_.rank; ++rank) {
        if (!peer(rank).socket.is_open()) HVD_RETURN_IF_ERROR(call(rank));
      }
      HVD_RETURN_IF_ERROR(take_calls());
      HVD_RETURN_IF_ERROR(hear_callers());
      if (missing_ == 0) break;
      if (steady_clock::now() >= terms_.deadline) return too_late();
      wait();
    }
    return std::move(peers_);
  }

 private:
  LocalPeer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }

  absl::Status listen() {
    missing_ = terms_.size - 1;
    listening_ = new_socket();
    if (!listening_.is_open()) return errno_error("socket");
    const Address mine = address_of(terms_.name, terms_.rank);
    if (::bind(listening_.number(), mine.get(), mine.bytes) != 0) {
      if (errno != EADDRINUSE) return errno_error("bind of a Unix socket");
      return absl::FailedPreconditionError(absl::StrCat(
          "another process is rank ", terms_.rank,
          " of this job already; start a child process of a rank without "
          "HOROVODPP_RENDEZVOUS in its environment (under srun: with "
          "HOROVOD_SIZE=1), or by horovodrun as a job of its own"));
    }
    if (::listen(listening_.number(), SOMAXCONN) != 0) {
      return errno_error("listen");
    }
    return absl::OkStatus();
  }

  // Connects to `rank`; if it does not listen yet, returns OK to try again
  // later.
  absl::Status call(int rank) {
    OwnedDescriptor socket = new_socket();
    if (!socket.is_open()) return errno_error("socket");
    const Address theirs = address_of(terms_.name, rank);
    if (::connect(socket.number(), theirs.get(), theirs.bytes) != 0) {
      if (errno == ECONNREFUSED || errno == EAGAIN || errno == EINTR) {
        return absl::OkStatus();
      }
      return errno_error("connect to a Unix socket");
    }
    const auto process = trusted_process(socket);
    if (!process.has_value()) return absl::OkStatus();
    const Hello hello = {.rank = terms_.rank};
    if (::send(socket.number(), &hello, sizeof(hello), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(sizeof(hello))) {
      return absl::OkStatus();  // The rank is gone.
    }
    take(rank, std::move(socket), *process);
    return absl::OkStatus();
  }

  absl::Status take_calls() {
    while (true) {
      OwnedDescriptor socket(::accept4(listening_.number(), nullptr, nullptr,
                                       SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!socket.is_open()) {
        if (errno == EINTR || errno == ECONNABORTED) continue;
        return errno == EAGAIN ? absl::OkStatus() : errno_error("accept");
      }
      if (trusted_process(socket)) callers_.push_back(std::move(socket));
    }
  }

  absl::Status hear_callers() {
    for (auto caller = callers_.begin(); caller != callers_.end();) {
      Hello hello;
      const ssize_t bytes = ::recv(caller->number(), &hello, sizeof(hello), 0);
      if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) {
        ++caller;
        continue;
      }
      if (bytes == static_cast<ssize_t>(sizeof(hello))) {
        HVD_RETURN_IF_ERROR(check(hello));
        const pid_t process = *trusted_process(*caller);
        take(hello.rank, std::move(*caller), process);
      }
      caller = callers_.erase(caller);
    }
    return absl::OkStatus();
  }

  absl::Status check(const Hello& hello) {
    const Hello expected;
    if (std::memcmp(hello.magic, expected.magic, sizeof(hello.magic)) == 0 &&
        hello.version == expected.version && hello.rank > terms_.rank &&
        hello.rank < terms_.size && !peer(hello.rank).socket.is_open()) {
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(
        "a rank introduced itself in an unknown way; do all ranks run the same "
        "version of horovodpp?");
  }

  void take(int rank, OwnedDescriptor socket, pid_t process) {
    peer(rank) = {.socket = std::move(socket), .pid = process};
    --missing_;
  }

  void wait() {
    std::vector<pollfd> awaited = {{listening_.number(), POLLIN, 0}};
    for (const OwnedDescriptor& caller : callers_) {
      awaited.push_back({caller.number(), POLLIN, 0});
    }
    const auto left =
        std::chrono::ceil<milliseconds>(terms_.deadline - steady_clock::now());
    const bool calls_on = std::any_of(
        peers_.begin(), peers_.begin() + terms_.rank,
        [](const LocalPeer& other) { return !other.socket.is_open(); });
    const auto most = calls_on ? kBetweenCalls : milliseconds(1000);
    ::poll(awaited.data(), awaited.size(),
           static_cast<int>(std::clamp(left, milliseconds(0), most).count()));
  }

  absl::Status too_late() {
    std::string missing;
    for (int rank = 0; rank < terms_.size; ++rank) {
      if (rank == terms_.rank || peer(rank).socket.is_open()) continue;
      absl::StrAppend(&missing, missing.empty() ? "" : ", ", "rank ", rank);
    }
    return absl::DeadlineExceededError(
        absl::StrCat("only ", terms_.size - missing_, " of ", terms_.size,
                     " ranks came in time; missing: ", missing));
  }

  const LocalMeeting& terms_;
  std::vector<LocalPeer> peers_;
  int missing_ = 0;
  OwnedDescriptor listening_;
  // Callers that have not sent their rank.
  std::vector<OwnedDescriptor> callers_;
};

}  // namespace

absl::StatusOr<std::vector<LocalPeer>> meet_locally(
    const LocalMeeting& meeting) {
  if (meeting.rank < 0 || meeting.rank >= meeting.size) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no rank ", meeting.rank, " in a job of ", meeting.size));
  }
  if (meeting.name.empty() || meeting.name.size() > kLongestName) {
    return absl::InvalidArgumentError(
        absl::StrCat("the name by which ranks meet has ", meeting.name.size(),
                     " bytes; give it 1 to ", kLongestName));
  }
  return Meeting(meeting).hold();
}

}  // namespace hvd::transport
