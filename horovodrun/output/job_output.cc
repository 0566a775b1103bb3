// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/output/job_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodrun/pipes/reading_pipe.h"

namespace hvd::launcher {
namespace {

// Whether both lead to the same terminal, pipe or file.
bool is_same_file(int one, int other) {
  struct stat a = {};
  struct stat b = {};
  return fstat(one, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

}  // namespace

JobOutput::JobOutput(const Options& options)
    : options_(options),
      one_stream_(is_same_file(STDOUT_FILENO, STDERR_FILENO)),
      reports_(options.token),
      noise_(options.noise),
      shown_output_(STDOUT_FILENO),
      shown_errors_(STDERR_FILENO),
      nowhere_(::open("/dev/null", O_WRONLY | O_CLOEXEC)),
      hidden_(nowhere_),
      own_lines_(shown_errors().add_source()) {
  output_ = {.shown = &shown_output_, .number = shown_output_.add_source()};
  errors_ = {.shown = &shown_errors(), .number = shown_errors().add_source()};
}

JobOutput::~JobOutput() {
  for (const ShownSource& rank : ranks_) {
    if (rank.fd >= 0) close(rank.fd);
  }
  if (output_.fd >= 0) close(output_.fd);
  if (errors_.fd >= 0) close(errors_.fd);
  if (nowhere_ >= 0) close(nowhere_);
}

bool JobOutput::open(int* output, int* errors) {
  return make_reading_pipe(&output_.fd, output) &&
         make_reading_pipe(&errors_.fd, errors);
}

void JobOutput::say(const std::string& line) {
  const Clock::TimePoint now = Clock::steady().now();
  shown_errors().feed(own_lines_, absl::StrCat("horovodrun: ", line, "\n"),
                      now);
  shown_errors().pump(now);
}

// False if there was nothing to read.
bool JobOutput::read_errors(std::vector<Report>* reports) {
  char bytes[1 << 16];
  const ssize_t count = read(errors_.fd, bytes, sizeof bytes);
  if (count < 0) return false;
  std::string text;
  if (count > 0) {
    reports_.feed({bytes, static_cast<size_t>(count)}, &text, reports);
  } else {
    reports_.finish(&text);
  }
  std::string shown;
  noise_.feed(text, &shown);
  if (count == 0) noise_.finish(&shown);
  const Clock::TimePoint now = Clock::steady().now();
  errors_.shown->feed(errors_.number, shown, now);
  if (count == 0) {
    close(std::exchange(errors_.fd, -1));
    errors_.shown->finish(errors_.number, now);
  }
  errors_.shown->pump(now);
  return errors_.fd >= 0;
}

void JobOutput::add_rank(const RankStreamDesk::Arrived& arrived) {
  const int rank = arrived.rank;
  const auto add = [&](int fd, bool is_hidden, ShownOutput& shown,
                       LogFile* file, LastLines* last) {
    ShownOutput& destination = is_hidden ? hidden_ : shown;
    ranks_.push_back(
        {.fd = fd,
         .shown = &destination,
         .number = destination.add_source(),
         .file = file,
         .last = last,
         .prefix = prefix_of(options_.prefix, rank, last != nullptr)});
  };
  add(arrived.output, arrived.hides_output, shown_output_,
      options_.files->output(rank), nullptr);
  add(arrived.errors, arrived.hides_errors, shown_errors(),
      options_.files->errors(rank), &last_lines_[rank]);
}

// Reads some bytes of each rank; false if there were none.
bool JobOutput::read_ranks() {
  while (const auto arrived = desk_.receive(options_.token)) {
    const absl::Status made = options_.files->add(arrived->rank);
    if (!made.ok() && file_error_.empty()) {
      file_error_ = std::string(made.message());
    }
    add_rank(*arrived);
  }
  bool any = false;
  for (ShownSource& rank : ranks_) {
    any = rank.read(Clock::steady().now()) || any;
  }
  return any;
}

bool JobOutput::drain(std::vector<Report>* reports) {
  const Clock::TimePoint now = Clock::steady().now();
  shown_output_.pump(now);
  shown_errors_.pump(now);
  hidden_.pump(now);
  // Read reports even if the output cannot be shown.
  while (errors_.fd >= 0 && read_errors(reports)) {
  }
  const bool any_output = output_.read(now);
  return read_ranks() || any_output;
}

void JobOutput::add_awaited(std::vector<pollfd>* fds) const {
  // poll() ignores a negative descriptor.
  fds->push_back({errors_.fd, POLLIN, 0});
  fds->push_back({output_.awaited_fd(), POLLIN, 0});
  fds->push_back({desk_.fd(), POLLIN, 0});
  fds->push_back({shown_output_.awaited_fd(), POLLOUT, 0});
  fds->push_back({shown_errors_.awaited_fd(), POLLOUT, 0});
  for (const ShownSource& rank : ranks_) {
    fds->push_back({rank.awaited_fd(), POLLIN, 0});
  }
}

Clock::TimePoint JobOutput::deadline() const {
  return std::min(
      {shown_output_.deadline(), shown_errors_.deadline(), hidden_.deadline()});
}

bool JobOutput::is_open() const {
  return output_.fd >= 0 || errors_.fd >= 0 ||
         std::any_of(ranks_.begin(), ranks_.end(),
                     [](const ShownSource& rank) { return rank.fd >= 0; });
}

bool JobOutput::has_unshown() const {
  return shown_output_.has_unshown() || shown_errors_.has_unshown();
}

// A job with output of one rank alone shows its lines directly above the last
// line already.
std::vector<std::string> JobOutput::last_lines(int rank) const {
  const auto found = last_lines_.find(rank);
  if (found == last_lines_.end()) return {};
  std::vector<std::string> lines = found->second.lines();
  if (ends_with_lines(shown_errors().last_lines(), lines)) lines.clear();
  return lines;
}

std::string JobOutput::error() const {
  const bool lost_output = shown_output_.error() != 0;
  const int error = lost_output ? shown_output_.error() : shown_errors_.error();
  if (error == 0) {
    return file_error_.empty() ? options_.files->error() : file_error_;
  }
  return absl::StrCat("cannot write to standard ",
                      lost_output ? "output" : "error", ": ",
                      std::strerror(error));
}

}  // namespace hvd::launcher
