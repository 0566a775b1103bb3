// SPDX-License-Identifier: Apache-2.0
// Starting and ending processes, with argument vectors and never through a
// shell. For programs of one thread only: a child is forked, and signals are
// masked.
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
  int stdin_fd = -1;  // -1: this process'.
  bool reads_nothing = false;
  int stdout_fd = -1;      // -1: this process'.
  int stderr_fd = -1;      // -1: this process'.
  bool own_group = false;  // Lead a process group of its own.
  // What the child gets when this process dies; 0: nothing.
  int death_signal = 0;
  bool ignores_sigpipe = false;
  sigset_t mask{};  // Signals the child starts with as blocked.
};

struct Spawned {
  pid_t pid = -1;
  int error = 0;  // Not 0: an errno that says why there is no such process.
};

// Starts argv[0], found on the PATH, and returns once it runs or has failed to.
// All signals have their default action in the child, but for SIGPIPE if asked.
Spawned spawn(const std::vector<std::string>& argv,
              const SpawnOptions& options);

// What such an errno says, and what to do about it.
std::string describe_start_error(int error);

struct Captured {
  std::string text;  // Standard output and standard error.
  int error = 0;     // An errno if it could not be started.
};

// Runs `argv` to its end with nothing to read.
Captured capture(const std::vector<std::string>& argv);

// From now on descendants whose parent ends become children of this process, so
// that none of them can get out of sight.
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

// Those of this process now.
std::vector<pid_t> descendants();

// Whether any of these runs the program that this process runs.
bool any_runs_this_program(const std::vector<pid_t>& pids);

// How long to wait for processes that got SIGKILL. A process that waits in the kernel
// for a hung driver or file server does not end. One that frees much memory uses
// processor time meanwhile.
class KillPatience {
 public:
  static constexpr std::chrono::milliseconds kPatience{5000};
  static constexpr std::chrono::milliseconds kMostPatience{60000};

  // For processes that use no processor time; kMostPatience for all others.
  explicit KillPatience(std::chrono::milliseconds patience = kPatience)
      : patience_(patience) {}

  // To be asked often, with those that are left.
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
  std::vector<pid_t> left{};  // Which SIGKILL did not end within the patience.
};

// Sends SIGKILL to all descendants until none is left that it may end, and
// reaps those that are children of this process.
Killed kill_descendants(
    std::chrono::milliseconds patience = KillPatience::kPatience);

// Reaps every child that has ended; how `child` has, as waitpid tells it, if it is
// one of them.
std::optional<int> reap_children(pid_t child);

// Tells when the parent of this process has ended.
class ParentWatch {
 public:
  explicit ParentWatch(pid_t parent);
  ~ParentWatch();
  ParentWatch(const ParentWatch&) = delete;
  ParentWatch& operator=(const ParentWatch&) = delete;

  // Becomes readable when it has; -1 where the kernel knows no such descriptor,
  // so that ended() must be asked now and then.
  int fd() const { return fd_; }
  bool ended() const;

 private:
  const pid_t parent_;
  const int fd_;
};

// Where the program of this process lies.
std::string own_path();

// Those of `signals` that this process was not started to ignore: nohup, for
// instance, has SIGHUP ignored.
std::vector<int> without_ignored(std::vector<int> signals);

// A set of these signals.
sigset_t signal_set(const std::vector<int>& signals);

}  // namespace hvd::launcher
