// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/node/flight_recorder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/trace/last_work.h"
#include "horovodpp/core/trace/recorder.h"
#include "horovodpp/core/trace/ticks.h"
#include "horovodrun/system/process_tree.h"

namespace hvd::launcher {
namespace {

constexpr char kVariable[] = "HOROVODPP_FLIGHT_RECORDER";

// The names of all entries of a folder of /proc; none if it is gone, or of
// another user.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end;
       !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename());
  }
  return names;
}

// The memory that a process holds open, unless it is among `seen`.
std::vector<RecordedWork> held_by(const std::string& process,
                                  std::set<ino_t>& seen) {
  std::vector<RecordedWork> held;
  const std::string folder = absl::StrCat("/proc/", process, "/fd");
  for (const std::string& name : names_in(folder)) {
    const std::string path = absl::StrCat(folder, "/", name);
    std::error_code error;
    const std::string target = std::filesystem::read_symlink(path, error);
    if (target.rfind(absl::StrCat("/memfd:", trace::kMemoryName), 0) != 0) {
      continue;
    }
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    struct stat found = {};
    if (fstat(fd, &found) == 0 && seen.insert(found.st_ino).second) {
      if (auto work = RecordedWork::map(fd)) held.push_back(*std::move(work));
    }
    close(fd);
  }
  return held;
}

}  // namespace

std::optional<RecordedWork> RecordedWork::map(int fd) {
  struct stat found = {};
  if (fstat(fd, &found) != 0 ||
      found.st_size < static_cast<off_t>(trace::kRingBytes)) {
    return std::nullopt;
  }
  void* const mapped =
      mmap(nullptr, trace::kRingBytes, PROT_READ, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return std::nullopt;
  RecordedWork work(static_cast<const std::byte*>(mapped));
  if (!trace::RingReader::is_ring(work.memory_)) return std::nullopt;
  return work;
}

RecordedWork::RecordedWork(RecordedWork&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)) {}

RecordedWork::~RecordedWork() {
  if (memory_ != nullptr) {
    munmap(const_cast<std::byte*>(memory_), trace::kRingBytes);
  }
}

pid_t RecordedWork::pid() const {
  return static_cast<pid_t>(trace::RingReader(memory_).pid());
}

int RecordedWork::rank() const {
  const trace::RingReader reader(memory_);
  return static_cast<int>(trace::low_of(reader.place()));
}

int RecordedWork::size() const {
  const trace::RingReader reader(memory_);
  return reader.is_readable() ? static_cast<int>(trace::high_of(reader.place()))
                              : 0;
}

std::string RecordedWork::describe(bool is_over) const {
  return trace::describe_work(trace::RingReader(memory_),
                              trace::steady_nanoseconds(), is_over);
}

FlightRecorder::FlightRecorder() : fd_(trace::Recorder::make_memory()) {}

FlightRecorder::~FlightRecorder() {
  if (fd_ >= 0) close(fd_);
}

void FlightRecorder::add_to(Environment& environment) const {
  environment.erase(kVariable);  // Of a job around this one.
  if (fd_ >= 0) environment[kVariable] = absl::StrCat(fd_);
}

std::string FlightRecorder::last_work() const {
  const auto work = RecordedWork::map(fd_);
  return work && work->size() > 0 ? work->describe(/*is_over=*/true) : "";
}

std::string dump_of_ranks(std::optional<pid_t> pid) {
  std::vector<pid_t> below;
  if (pid) below = ProcessTree().below(*pid);
  const auto is_asked = [&](pid_t process) {
    return !pid || process == *pid ||
           std::find(below.begin(), below.end(), process) != below.end();
  };
  std::set<ino_t> seen;
  std::vector<RecordedWork> found;
  for (const std::string& process : names_in("/proc")) {
    pid_t number = 0;
    if (!absl::SimpleAtoi(process, &number)) continue;
    for (RecordedWork& work : held_by(process, seen)) {
      if (work.pid() != 0 && is_asked(work.pid())) {
        found.push_back(std::move(work));
      }
    }
  }
  std::vector<std::tuple<int, int, std::string>> lines;
  for (const RecordedWork& work : found) {
    const bool is_over = kill(work.pid(), 0) != 0;
    const std::string process = absl::StrCat("pid ", work.pid());
    lines.emplace_back(
        work.size(), work.rank(),
        work.size() == 0
            ? absl::StrCat(process, " has not entered a job")
            : absl::StrCat("rank ", work.rank(), " of ", work.size(), " (",
                           process, ") ", work.describe(is_over)));
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const auto& [size, rank, line] : lines) {
    absl::StrAppend(&text, line, "\n");
  }
  if (text.empty()) text = "no rank of yours runs on this host\n";
  return text;
}

}  // namespace hvd::launcher
