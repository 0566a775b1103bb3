// SPDX-License-Identifier: Apache-2.0
// Starts and ends processes, with argument vectors and never through a shell.
// For programs with one thread only: a child is forked, and signals are masked.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "horovodrun/system/environment.h"

namespace hvd::launcher {

struct SpawnOptions {
  Environment environment{};
  int stdin_fd = -1;  // -1: this process's.
  bool reads_nothing = false;
  int stdout_fd = -1;      // -1: this process's.
  int stderr_fd = -1;      // -1: this process's.
  bool own_group = false;  // Leads a process group of its own.
  // The signal that the child gets when this process dies; 0: none.
  int death_signal = 0;
  bool ignores_sigpipe = false;
  sigset_t mask{};  // Signals that are blocked in the child at first.
};

struct Spawned {
  pid_t pid = -1;
  int error = 0;  // If not 0: why the process was not started.
};

// Starts argv[0], found on the PATH, and returns once it runs or has failed to.
// All signals have their default action in the child, except SIGPIPE if
// requested.
Spawned spawn(const std::vector<std::string>& argv,
              const SpawnOptions& options);

// The meaning of such an errno, and a remedy.
std::string describe_start_error(int error);

struct Captured {
  std::string text;  // Standard output and standard error.
  int error = 0;     // An errno if it could not be started.
};

// Runs `argv` to its end without input.
Captured capture(const std::vector<std::string>& argv);

// From now on descendants whose parent ends become children of this process, so
// that none can escape.
void adopt_orphans();

// All processes that live at one moment, zombies excluded.
class ProcessTree {
 public:
  ProcessTree();

  // The descendants of a process.
  std::vector<pid_t> below(pid_t ancestor) const;

 private:
  std::multimap<pid_t, pid_t> children_;  // By parent.
};

// The current descendants of this process.
std::vector<pid_t> descendants();

// Whether any of these runs the program of this process.
bool any_runs_this_program(const std::vector<pid_t>& pids);

// How long to wait for processes after SIGKILL. A process that waits in the
// kernel for a hung driver or file server does not end. One that frees much
// memory uses CPU time meanwhile.
class KillPatience {
 public:
  static constexpr std::chrono::milliseconds kPatience{5000};
  static constexpr std::chrono::milliseconds kMostPatience{60000};

  // `patience` is for processes that use no CPU time; kMostPatience for all
  // others.
  explicit KillPatience(std::chrono::milliseconds patience = kPatience)
      : patience_(patience) {}

  // Poll it often, with the remaining processes.
  bool is_over(const std::vector<pid_t>& pids);

 private:
  const std::chrono::milliseconds patience_;
  const std::chrono::steady_clock::time_point began_ =
      std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point moved_at_ = began_;
  std::size_t count_ = 0;
  std::int64_t ticks_ = 0;
};

struct Killed {
  int found = 0;              // Alive at first.
  std::vector<pid_t> left{};  // SIGKILL did not end them within the patience.
};

// Sends SIGKILL to all descendants until none is left that it can end, and
// reaps those that are children of this process.
Killed kill_descendants(
    std::chrono::milliseconds patience = KillPatience::kPatience);

// Reaps every child that has ended; returns the status of `child`, as waitpid
// gives it, if that is one of them.
std::optional<int> reap_children(pid_t child);

// Tells when the parent of this process has ended.
class ParentWatch {
 public:
  explicit ParentWatch(pid_t parent);
  ~ParentWatch();
  ParentWatch(const ParentWatch&) = delete;
  ParentWatch& operator=(const ParentWatch&) = delete;

  // Becomes readable at the parent's end; -1 if the kernel lacks such
  // descriptors, so that ended() must be polled.
  int fd() const { return fd_; }
  bool ended() const;

 private:
  const pid_t parent_;
  const int fd_;
};

// The path of this process's program.
std::string own_path();

// Those of `signals` that this process was not started to ignore: nohup, for
// instance, ignores SIGHUP.
std::vector<int> without_ignored(std::vector<int> signals);

// A set of these signals.
sigset_t signal_set(const std::vector<int>& signals);

}  // namespace hvd::launcher
