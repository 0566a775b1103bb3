// SPDX-License-Identifier: Apache-2.0
// A forked child, for tests of memory and signals between processes. Fork
// before you start threads.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

namespace hvd::transport {

class ChildProcess {
 public:
  // Runs `body` in the child, and exits with its result.
  explicit ChildProcess(const std::function<int()>& body) : pid_(::fork()) {
    if (pid_ == 0) ::_exit(body());
  }
  ~ChildProcess() {
    if (pid_ > 0) {
      kill(SIGKILL);
      exit_code();
    }
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  void kill(int signal) const { ::kill(pid_, signal); }

  // Waits for the end; returns the exit code, or minus the signal's number.
  int exit_code() {
    int status = 0;
    if (::waitpid(pid_, &status, 0) != pid_) return -1000;
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_;
};

}  // namespace hvd::transport
