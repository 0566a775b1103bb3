// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/output/rank_copy.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "horovodrun/output/last_lines.h"
#include "horovodrun/output/rank_files.h"
#include "horovodrun/output/report.h"
#include "horovodrun/output/stream_pair.h"

namespace hvd::launcher {
namespace {

// False: nothing reads it any more.
bool write_fully(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (count < 0 && errno == EAGAIN) {
      pollfd room = {fd, POLLOUT, 0};
      poll(&room, 1, -1);
    } else if (count < 0 && errno != EINTR) {
      return false;
    }
  }
  return true;
}

// Of a pipe that has the file's name.
void wait_for_room(LogFile& file) {
  while (file.awaited_fd() >= 0) {
    pollfd room = {file.awaited_fd(), POLLOUT, 0};
    poll(&room, 1, -1);
    file.pump();
  }
}

void report_lost_file(int rank, std::string text, const std::string& token) {
  // A report is one line.
  std::replace(text.begin(), text.end(), '\n', ' ');
  send_report({.kind = Report::Kind::kFileLost, .rank = rank, .text = text},
              token);
}

}  // namespace

// Memory that this process and the copying process share.
struct RankCopy::SharedLines {
  std::size_t size = 0;
  std::array<char, LastLines::kMaxLines*(LastLines::kMaxLineBytes + 1)> text;

  static SharedLines* create() {
    void* const memory =
        mmap(nullptr, sizeof(SharedLines), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : new (memory) SharedLines;
  }
  void set(const std::vector<std::string>& lines) {
    const std::string joined = absl::StrJoin(lines, "\n");
    std::copy(joined.begin(), joined.end(), text.begin());
    size = joined.size();
  }
  std::vector<std::string> get() const {
    return absl::StrSplit(absl::string_view(text.data(), size), '\n',
                          absl::SkipEmpty());
  }
};

namespace {

struct CopyJob {
  int from = -1;
  int shown = -1;           // This process's own stream; -1: it is hidden.
  LogFile* file = nullptr;  // Null: none.
  std::optional<LinePrefix> prefix{};
  int rank = 0;
  const std::string* token = nullptr;
};

// In a process of its own, until the stream ends. `remember` gets all bytes.
template <typename Remember>
void copy_stream(CopyJob job, const Remember& remember) {
  std::array<char, 1 << 16> bytes{};
  for (;;) {
    const ssize_t count = read(job.from, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    // A terminal ends with an error.
    if (count <= 0) return;
    const absl::string_view text(bytes.data(), static_cast<std::size_t>(count));
    remember(text);
    if (job.shown >= 0 &&
        !(job.prefix ? write_fully(job.shown, job.prefix->prefixed(
                                                  text, std::time(nullptr)))
                     : write_fully(job.shown, text))) {
      job.shown = -1;
    }
    if (job.file == nullptr) continue;
    job.file->add(text);
    wait_for_room(*job.file);
    const std::string error = job.file->error();
    if (error.empty()) continue;
    report_lost_file(job.rank, error, *job.token);
    job.file = nullptr;
  }
}

}  // namespace

RankCopy::RankCopy() = default;

RankCopy::RankCopy(const Options& options)
    : last_lines_(SharedLines::create()),
      rank_(options.rank),
      token_(options.token) {
  RankLog log;
  if (!options.folder.empty()) {
    auto created = create_rank_log(options.folder, options.rank, options.ranks,
                                   options.limits);
    if (created.ok()) {
      log = *std::move(created);
    } else {
      report_lost_file(rank_, std::string(created.status().message()), token_);
    }
  }
  const std::array<LogFile*, 2> files = {log.output.get(), log.errors.get()};
  const std::array<bool, 2> hides = {options.hides_output,
                                     options.hides_errors};
  for (std::size_t i = 0; i < files.size(); ++i) {
    const bool is_errors = i == 1;
    const int shown = is_errors ? STDERR_FILENO : STDOUT_FILENO;
    if (!is_errors && files[i] == nullptr && !hides[i] &&
        !options.prefix.is_on) {
      continue;
    }
    StreamPair stream =
        open_stream((!is_errors && options.terminal) || isatty(shown) != 0);
    const pid_t pid = stream.is_open() ? fork() : -1;
    if (pid == 0) {
      setpgid(0, 0);
      close();
      close_if_open(stream.writer);
      LastLines last;
      copy_stream({.from = stream.reader,
                   .shown = hides[i] ? -1 : shown,
                   .file = files[i],
                   .prefix = prefix_of(options.prefix, rank_, is_errors),
                   .rank = rank_,
                   .token = &token_},
                  [&](absl::string_view text) {
                    if (!is_errors || last_lines_ == nullptr) return;
                    last.feed(text);
                    last_lines_->set(last.lines());
                  });
      _exit(0);
    }
    close_if_open(stream.reader);
    if (pid < 0) {
      if (files[i] != nullptr) {
        report_lost_file(rank_,
                         cannot_write(is_errors ? "stderr" : "stdout", errno),
                         token_);
      }
      close_if_open(stream.writer);
    }
    writers_[i] = stream.writer;
    copiers_[i] = pid;
  }
}

RankCopy::RankCopy(RankCopy&& other) noexcept
    : writers_(std::exchange(other.writers_, {-1, -1})),
      copiers_(std::exchange(other.copiers_, {-1, -1})),
      last_lines_(std::exchange(other.last_lines_, nullptr)),
      rank_(other.rank_),
      token_(std::move(other.token_)) {}

RankCopy::~RankCopy() {
  close();
  if (last_lines_ != nullptr) munmap(last_lines_, sizeof(SharedLines));
}

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

void RankCopy::report_last_lines() const {
  if (last_lines_ == nullptr) return;
  for (const std::string& line : last_lines_->get()) {
    send_report({.kind = Report::Kind::kLastLine, .rank = rank_, .text = line},
                token_);
  }
}

}  // namespace hvd::launcher
