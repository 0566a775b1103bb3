// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/output_pump.h"

#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace hvd::launcher {
namespace {

constexpr size_t kMostKept = 1 << 20;

bool is_file(int fd) {
  struct stat status = {};
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

OutputPump::OutputPump(int fd)
    : fd_(fd), piece_(is_file(fd) ? kMostKept : PIPE_BUF) {}

bool OutputPump::is_full() const { return kept_.size() >= kMostKept; }

void OutputPump::add(absl::string_view bytes) {
  if (!closed_) kept_.append(bytes.data(), bytes.size());
}

void OutputPump::pump() {
  size_t done = 0;
  while (done < kept_.size()) {
    pollfd ready = {fd_, POLLOUT, 0};
    if (poll(&ready, 1, 0) <= 0) break;
    const ssize_t count =
        write(fd_, kept_.data() + done, std::min(piece_, kept_.size() - done));
    if (count >= 0) {
      done += static_cast<size_t>(count);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      closed_ = true;
      error_ = errno == EPIPE ? 0 : errno;
      done = kept_.size();
    }
  }
  kept_.erase(0, done);
}

}  // namespace hvd::launcher
