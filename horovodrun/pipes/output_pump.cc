// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/pipes/output_pump.h"

#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace hvd::launcher {
namespace {

constexpr size_t kMaxKept = 1 << 20;

bool is_file(int fd) {
  struct stat status = {};
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

OutputPump::OutputPump(int fd)
    : fd_(fd),
      piece_(is_file(fd) ? kMaxKept : PIPE_BUF),
      has_nowait_(!is_file(fd)) {}

bool OutputPump::is_full() const { return kept_.size() >= kMaxKept; }

void OutputPump::add(absl::string_view bytes) {
  if (!closed_) kept_.append(bytes.data(), bytes.size());
}

// Writes without waiting, although other processes may write to the same
// stream. Uses one call if the kernel supports that, which takes as much as
// fits, else two.
ssize_t OutputPump::write_some(const char* bytes, size_t size) {
  if (has_nowait_) {
    iovec piece = {const_cast<char*>(bytes), size};
    const ssize_t count = pwritev2(fd_, &piece, 1, -1, RWF_NOWAIT);
    if (count >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS)) return count;
    has_nowait_ = false;
  }
  pollfd ready = {fd_, POLLOUT, 0};
  if (poll(&ready, 1, 0) <= 0) {
    errno = EAGAIN;
    return -1;
  }
  return write(fd_, bytes, std::min(piece_, size));
}

void OutputPump::pump() {
  size_t done = 0;
  while (done < kept_.size()) {
    const ssize_t count = write_some(kept_.data() + done, kept_.size() - done);
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
