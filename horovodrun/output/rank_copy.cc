// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/output/rank_copy.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "absl/strings/string_view.h"
#include "horovodrun/output/rank_files.h"
#include "horovodrun/output/report.h"
#include "horovodrun/output/stream_pair.h"

namespace hvd::launcher {
namespace {

// Returns 0 or an errno.
int write_fully(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (count < 0 && errno == EAGAIN) {
      pollfd room = {fd, POLLOUT, 0};
      poll(&room, 1, -1);
    } else if (count < 0 && errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

struct CopyJob {
  int from = -1;
  int shown = -1;  // This process's own stream.
  int file = -1;
  std::string path{};
  int rank = 0;
  const std::string* token = nullptr;
};

void report_lost_file(int rank, std::string text, const std::string& token) {
  // A report is one line.
  std::replace(text.begin(), text.end(), '\n', ' ');
  send_report({.kind = Report::Kind::kFileLost, .rank = rank, .text = text},
              token);
}

// In a process of its own, until the stream ends.
void copy_stream(const CopyJob& job) {
  std::array<char, 1 << 16> bytes{};
  bool is_shown = true;
  bool is_kept = true;
  for (;;) {
    const ssize_t count = read(job.from, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    // A terminal ends with an error.
    if (count <= 0) return;
    const absl::string_view text(bytes.data(), static_cast<std::size_t>(count));
    if (is_shown) is_shown = write_fully(job.shown, text) == 0;
    if (!is_kept) continue;
    const int error = write_fully(job.file, text);
    is_kept = error == 0;
    if (!is_kept) {
      report_lost_file(job.rank, cannot_write(job.path, error), *job.token);
    }
  }
}

}  // namespace

RankCopy::RankCopy(const std::string& folder, int rank, int ranks,
                   const std::string& token) {
  auto files = open_rank_files(folder, rank, ranks);
  if (!files.ok()) {
    report_lost_file(rank, std::string(files.status().message()), token);
    return;
  }
  const std::array<CopyJob, 2> jobs = {
      {{-1, STDOUT_FILENO, files->output, files->names.output, rank, &token},
       {-1, STDERR_FILENO, files->errors, files->names.errors, rank, &token}}};
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    StreamPair stream = open_stream(isatty(jobs[i].shown) != 0);
    const pid_t pid = stream.is_open() ? fork() : -1;
    if (pid == 0) {
      setpgid(0, 0);
      close();
      close_if_open(stream.writer);
      CopyJob job = jobs[i];
      job.from = stream.reader;
      copy_stream(job);
      _exit(0);
    }
    close_if_open(stream.reader);
    if (pid < 0) {
      report_lost_file(rank, cannot_write(jobs[i].path, errno), token);
      close_if_open(stream.writer);
    }
    writers_[i] = stream.writer;
    copiers_[i] = pid;
  }
  close_if_open(files->output);
  close_if_open(files->errors);
}

RankCopy::RankCopy(RankCopy&& other) noexcept
    : writers_(std::exchange(other.writers_, {-1, -1})),
      copiers_(std::exchange(other.copiers_, {-1, -1})) {}

void RankCopy::close() {
  for (int& fd : writers_) close_if_open(fd);
}

bool RankCopy::is_running() {
  bool any = false;
  for (pid_t& pid : copiers_) {
    if (pid > 0 && waitpid(pid, nullptr, WNOHANG) != 0) pid = -1;
    any = any || pid > 0;
  }
  return any;
}

}  // namespace hvd::launcher
