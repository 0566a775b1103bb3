// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/terminal/terminal_input.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace hvd::launcher {

bool may_read_input() {
  return isatty(STDIN_FILENO) == 0 || tcgetpgrp(STDIN_FILENO) == getpgrp();
}

TerminalInput::TerminalInput() {
  if (isatty(STDIN_FILENO) != 0 && may_read_input()) pipe_.emplace();
}

void TerminalInput::close_reading_end() {
  if (pipe_) pipe_->close_reading_end();
}

int TerminalInput::awaited() const {
  return reads() && pipe_->unwritten() == 0 && may_read_input() ? STDIN_FILENO
                                                                : -1;
}

void TerminalInput::pass_on() {
  if (!pipe_) return;
  pipe_->write_some();
  pollfd input = {awaited(), POLLIN, 0};
  if (input.fd < 0 || poll(&input, 1, 0) != 1) return;
  char typed[4096];
  const ssize_t size = read(STDIN_FILENO, typed, sizeof typed);
  if (size > 0) pipe_->add({typed, static_cast<std::size_t>(size)});
  if (size == 0 || (size < 0 && errno != EINTR)) {
    at_end_ = true;
    pipe_->end();
  }
}

}  // namespace hvd::launcher
