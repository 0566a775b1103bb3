// SPDX-License-Identifier: Apache-2.0
// Memory in which a rank records its work (core/trace). It outlives the rank,
// also one that was killed. Its owner is the rank's supervisor.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>

#include "horovodrun/system/environment.h"

namespace hvd::launcher {

// The memory of one rank, mapped for reading.
class RecordedWork {
 public:
  // nullopt: the descriptor is not of such memory.
  static std::optional<RecordedWork> map(int fd);
  RecordedWork(RecordedWork&& other) noexcept;
  RecordedWork& operator=(RecordedWork&&) = delete;
  ~RecordedWork();

  // The process that records, or recorded last; 0: none has.
  pid_t pid() const;
  int rank() const;  // In its job.
  int size() const;  // 0: it has not entered a job.
  // See trace::describe_work.
  std::string describe(bool is_over) const;

 private:
  explicit RecordedWork(const std::byte* memory) : memory_(memory) {}
  const std::byte* memory_;
};

class FlightRecorder {
 public:
  FlightRecorder();
  ~FlightRecorder();
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

  // A child that keeps it and has the variable records there; -1: without such
  // memory.
  int fd() const { return fd_; }
  void add_to(Environment& environment) const;

  // The work of the rank, which has ended; "" if it entered no job.
  std::string last_work() const;

 private:
  const int fd_;
};

// `horovodrun --dump [PID]`: a line for each rank of this user's jobs on this
// host; with a PID, of the ranks below that process, or that rank alone.
std::string dump_of_ranks(std::optional<pid_t> pid);

}  // namespace hvd::launcher
