// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/pipes/pipe_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace hvd::launcher {

PipeWriter::PipeWriter() {
  if (pipe2(ends_, O_CLOEXEC) == 0) fcntl(ends_[1], F_SETFL, O_NONBLOCK);
}

PipeWriter::~PipeWriter() {
  close_reading_end();
  close_writing_end();
}

void PipeWriter::close_reading_end() {
  if (ends_[0] >= 0) close(ends_[0]);
  ends_[0] = -1;
}

void PipeWriter::close_writing_end() {
  if (ends_[1] >= 0) close(ends_[1]);
  ends_[1] = -1;
  unwritten_.clear();
}

void PipeWriter::add(absl::string_view bytes) {
  if (!is_open()) return;
  unwritten_.append(bytes.data(), bytes.size());
  write_some();
}

void PipeWriter::write_some() {
  while (!unwritten_.empty()) {
    const ssize_t size = write(ends_[1], unwritten_.data(), unwritten_.size());
    if (size > 0) {
      unwritten_.erase(0, static_cast<std::size_t>(size));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      return close_writing_end();  // No reader.
    }
  }
  if (is_ending_) close_writing_end();
}

void PipeWriter::end() {
  is_ending_ = true;
  write_some();
}

}  // namespace hvd::launcher
