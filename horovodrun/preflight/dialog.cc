// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/preflight/dialog.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodrun/system/process.h"

namespace hvd::launcher {
namespace {

constexpr std::size_t kMaxLine = 4096;
constexpr std::size_t kMaxErrors = 8192;
// Of one call. A fast process could keep it reading.
constexpr std::size_t kMaxRead = 1 << 20;

void close_fd(int& fd) {
  if (fd >= 0) close(std::exchange(fd, -1));
}

// Reads the arrived bytes, up to kMaxRead; false at the end of the stream.
template <typename Take>
bool read_all(int fd, const Take& take) {
  std::array<char, 65536> bytes{};
  ssize_t count = 0;
  for (std::size_t total = 0; total < kMaxRead;) {
    count = read(fd, bytes.data(), bytes.size());
    if (count <= 0) return count < 0 && (errno == EAGAIN || errno == EINTR);
    total += static_cast<std::size_t>(count);
    take(absl::string_view(bytes.data(), static_cast<std::size_t>(count)));
  }
  return true;
}

}  // namespace

Dialog::Dialog(const std::vector<std::string>& argv,
               const Environment& environment) {
  std::array<std::array<int, 2>, 3> pipes = {{{-1, -1}, {-1, -1}, {-1, -1}}};
  for (auto& ends : pipes) static_cast<void>(pipe2(ends.data(), O_CLOEXEC));
  const Spawned spawned = spawn(argv, {.environment = environment,
                                       .stdin_fd = pipes[0][0],
                                       .stdout_fd = pipes[1][1],
                                       .stderr_fd = pipes[2][1],
                                       .death_signal = SIGTERM,
                                       .mask = signal_set({})});
  close_fd(pipes[0][0]);
  close_fd(pipes[1][1]);
  close_fd(pipes[2][1]);
  input_ = pipes[0][1];
  output_ = pipes[1][0];
  errors_ = pipes[2][0];
  for (const int fd : {input_, output_, errors_}) {
    if (fd >= 0) fcntl(fd, F_SETFL, O_NONBLOCK);
  }
  pid_ = spawned.pid;
  if (spawned.error == 0) return;
  ended_ = true;
  code_ = 1;
  error_text_ = absl::StrCat("cannot start ", argv[0], ": ",
                             describe_start_error(spawned.error));
}

Dialog::~Dialog() {
  close_fd(input_);
  close_fd(output_);
  close_fd(errors_);
  if (pid_ < 0 || ended_) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::string Dialog::read_output() {
  std::string bytes;
  const bool open = read_all(
      output_, [&](absl::string_view some) { absl::StrAppend(&bytes, some); });
  if (!open) close_fd(output_);
  return bytes;
}

void Dialog::read_errors() {
  const bool open = read_all(errors_, [&](absl::string_view bytes) {
    absl::StrAppend(&error_text_, bytes);
    if (error_text_.size() > kMaxErrors) {
      error_text_.erase(0, error_text_.size() - kMaxErrors);
    }
  });
  if (!open) close_fd(errors_);
}

void Dialog::write_some() {
  const ssize_t count = write(input_, unsent_.data(), unsent_.size());
  if (count > 0) unsent_.erase(0, static_cast<std::size_t>(count));
  if (count < 0 && errno != EAGAIN && errno != EINTR) unsent_.clear();
}

void Dialog::reap() {
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return;
  ended_ = true;
  code_ = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

std::vector<std::string> Dialog::advance() {
  std::vector<std::string> lines;
  for (const char c : advance_bytes()) {
    if (c != '\n') {
      if (line_.size() < kMaxLine) line_.push_back(c);
      continue;
    }
    lines.push_back(std::exchange(line_, {}));
  }
  return lines;
}

std::string Dialog::advance_bytes() {
  std::string bytes;
  // The end first: all that it has written is then there to be read.
  if (!ended_) reap();
  if (output_ >= 0) bytes = read_output();
  if (errors_ >= 0) read_errors();
  if (!unsent_.empty()) write_some();
  return bytes;
}

void Dialog::add_awaited(std::vector<pollfd>* fds) const {
  // poll() ignores a negative descriptor.
  fds->push_back({output_, POLLIN, 0});
  fds->push_back({errors_, POLLIN, 0});
  if (!unsent_.empty()) fds->push_back({input_, POLLOUT, 0});
}

void Dialog::send(absl::string_view text) {
  absl::StrAppend(&unsent_, text);
  write_some();
}

}  // namespace hvd::launcher
