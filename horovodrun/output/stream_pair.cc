// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/output/stream_pair.h"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace hvd::launcher {
namespace {

StreamPair open_pipe() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  return {ends[0], ends[1]};
}

// A terminal that passes output on unchanged.
StreamPair open_terminal() {
  StreamPair terminal;
  terminal.reader = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  char name[128];
  termios settings = {};
  if (terminal.reader >= 0 && grantpt(terminal.reader) == 0 &&
      unlockpt(terminal.reader) == 0 &&
      ptsname_r(terminal.reader, name, sizeof name) == 0) {
    terminal.writer = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
  }
  if (!terminal.is_open() || tcgetattr(terminal.writer, &settings) != 0) {
    terminal.close_both();
    return terminal;
  }
  cfmakeraw(&settings);
  tcsetattr(terminal.writer, TCSANOW, &settings);
  return terminal;
}

}  // namespace

void close_if_open(int& fd) {
  if (fd >= 0) close(std::exchange(fd, -1));
}

void StreamPair::close_both() {
  close_if_open(reader);
  close_if_open(writer);
}

StreamPair open_stream(bool is_terminal) {
  if (!is_terminal) return open_pipe();
  const StreamPair terminal = open_terminal();
  return terminal.is_open() ? terminal : open_pipe();
}

}  // namespace hvd::launcher
