// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/system/terminal_input.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace hvd::launcher {
namespace {

// A process in the background would be stopped.
bool may_read_terminal() {
  return isatty(STDIN_FILENO) != 0 && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

}  // namespace

TerminalInput::TerminalInput() {
  if (!may_read_terminal() || pipe2(ends_, O_CLOEXEC) != 0) return;
  fcntl(ends_[1], F_SETFL, O_NONBLOCK);
}

TerminalInput::~TerminalInput() {
  close_reading_end();
  end();
}

void TerminalInput::close_reading_end() {
  if (ends_[0] >= 0) close(ends_[0]);
  ends_[0] = -1;
}

void TerminalInput::end() {
  if (ends_[1] >= 0) close(ends_[1]);
  ends_[1] = -1;
}

int TerminalInput::awaited() const {
  const bool can_take = ends_[1] >= 0 && !at_end_ && unwritten_.empty();
  return can_take && may_read_terminal() ? STDIN_FILENO : -1;
}

void TerminalInput::pass_on() {
  if (ends_[1] < 0) return;
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  if (unwritten_.empty() && !at_end_ && may_read_terminal() &&
      poll(&input, 1, 0) == 1) {
    char typed[4096];
    const ssize_t size = read(STDIN_FILENO, typed, sizeof typed);
    if (size > 0) unwritten_.assign(typed, static_cast<std::size_t>(size));
    if (size == 0 || (size < 0 && errno != EINTR)) at_end_ = true;
  }
  write_what_fits();
  if (at_end_ && unwritten_.empty()) end();
}

void TerminalInput::write_what_fits() {
  while (!unwritten_.empty()) {
    const ssize_t size = write(ends_[1], unwritten_.data(), unwritten_.size());
    if (size > 0) {
      unwritten_.erase(0, static_cast<std::size_t>(size));
    } else if (errno != EINTR) {
      // No room, or no reader.
      if (errno != EAGAIN) {
        unwritten_.clear();
        at_end_ = true;
      }
      return;
    }
  }
}

}  // namespace hvd::launcher
