// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/output/shown_output.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <string>
#include <utility>

namespace hvd::launcher {

void ShownOutput::show(absl::string_view text) {
  last_.feed(text);
  if (text.empty()) return;
  if (block_) {
    pump_.add(block_->above(text, terminal_size(fd_).columns));
  } else {
    pump_.add(text);
  }
}

void ShownOutput::show_block(std::vector<std::string> lines) {
  if (pump_.awaited_fd() >= 0) return;
  if (!block_) block_.emplace();
  pump_.add(block_->set(std::move(lines), terminal_size(fd_).columns));
  pump_.pump();
}

void ShownOutput::clear_block() {
  if (!block_) return;
  pump_.add(block_->clear(terminal_size(fd_).columns));
  block_.reset();
  pump_.pump();
}

void ShownOutput::feed(std::size_t source, absl::string_view bytes,
                       Clock::TimePoint now) {
  std::string text;
  merger_.feed(source, bytes, now, &text);
  show(text);
}

void ShownOutput::finish(std::size_t source, Clock::TimePoint now) {
  std::string text;
  merger_.finish(source, now, &text);
  show(text);
}

void ShownOutput::pump(Clock::TimePoint now) {
  if (merger_.deadline() <= now) {
    std::string text;
    merger_.look(now, &text);
    show(text);
  }
  pump_.pump();
}

bool ShownSource::read(Clock::TimePoint now) {
  if (awaited_fd() < 0) return false;
  // A terminal returns only a part of its data at a time.
  std::array<char, 1 << 16> bytes;
  std::size_t size = 0;
  ssize_t count;
  do {
    count = ::read(fd, bytes.data() + size, bytes.size() - size);
    if (count > 0) size += static_cast<std::size_t>(count);
  } while ((count > 0 && size < bytes.size()) || (count < 0 && errno == EINTR));
  const bool at_end = count == 0 || (count < 0 && errno != EAGAIN);
  const absl::string_view arrived(bytes.data(), size);
  if (prefix) {
    shown->feed(number, prefix->prefixed(arrived, std::time(nullptr)), now);
  } else {
    shown->feed(number, arrived, now);
  }
  if (file != nullptr) file->add(arrived);
  if (last != nullptr) last->feed(arrived);
  if (at_end) {
    close(std::exchange(fd, -1));
    shown->finish(number, now);
  }
  shown->pump(now);
  return size > 0;
}

}  // namespace hvd::launcher
