// SPDX-License-Identifier: Apache-2.0
// Starts and ends processes, with argument vectors and never through a shell.
// For programs with one thread only: a child is forked, and signals are masked.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <functional>
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
  int kept_fd = -1;        // Stays open in the child, under its number.
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

// Reaps every child that has ended; returns the status of `child`, as waitpid
// gives it, if that is one of them. Tells `of_others` about the rest.
using ChildEnded = std::function<void(pid_t, int status)>;
std::optional<int> reap_children(pid_t child, const ChildEnded& of_others = {});

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

// Whether any of these runs the program of this process.
bool any_runs_this_program(const std::vector<pid_t>& pids);

// The `signals` that this process was not started to ignore: nohup, for
// instance, ignores SIGHUP.
std::vector<int> without_ignored(std::vector<int> signals);

// `argv` in a form that can be pasted into a shell.
std::string shell_quoted(const std::vector<std::string>& argv);

// A set of these signals.
sigset_t signal_set(const std::vector<int>& signals);

}  // namespace hvd::launcher
