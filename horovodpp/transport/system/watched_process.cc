// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/system/watched_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/process_stat.h"

namespace hvd::transport {
namespace {

bool says_ended(const std::string& text) {
  const std::optional<ProcessStat> stat = parse_process_stat(text);
  return stat && !stat->is_alive();
}

}  // namespace

WatchedProcess WatchedProcess::open(std::int64_t pid) {
  const long descriptor =
      ::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0u);
  if (descriptor >= 0) return {Way::kPidfd, static_cast<int>(descriptor)};
  if (errno == ESRCH) return {Way::kGone, -1};
  return open_to_look(pid);
}

// The open file stays bound to that process (kernel: fs/proc/base.c).
WatchedProcess WatchedProcess::open_to_look(std::int64_t pid) {
  const std::string path = absl::StrCat("/proc/", pid, "/stat");
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file >= 0) return {Way::kByLook, file};
  const bool is_gone =
      ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
  return {is_gone ? Way::kGone : Way::kNone, -1};
}

WatchedProcess::Way WatchedProcess::way() const {
  return way_ == Way::kGone || descriptor_.is_there() ? way_ : Way::kNone;
}

bool WatchedProcess::has_ended() const {
  const Way way = this->way();
  if (way == Way::kGone) return true;
  if (way == Way::kPidfd) {
    pollfd polled = {.fd = descriptor(), .events = POLLIN, .revents = 0};
    return ::poll(&polled, 1, 0) > 0;
  }
  if (way == Way::kNone) return false;
  std::array<char, 512> text = {};
  const ssize_t count = ::pread(descriptor(), text.data(), text.size(), 0);
  if (count < 0) return errno == ESRCH;
  return says_ended(std::string(text.data(), static_cast<std::size_t>(count)));
}

}  // namespace hvd::transport
