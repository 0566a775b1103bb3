// SPDX-License-Identifier: Apache-2.0
// A program under test. Its two output streams are pipes, and a mark in its
// environment identifies all its descendants.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace hvd::launcher {

struct Outcome {
  int code = -1;  // Exit code, or 128 + signal.
  std::string out;
  std::string err;

  // The last line of `err`, without newline.
  std::string last_line() const;
};

class TestProcess {
 public:
  // The test's own environment variables for MPI and Horovod are not passed on.
  explicit TestProcess(
      const std::vector<std::string>& argv,
      const std::map<std::string, std::string>& environment = {});
  ~TestProcess();
  TestProcess(const TestProcess&) = delete;
  TestProcess& operator=(const TestProcess&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) const;

  // Reads until `text` has appeared `times` times in both streams together.
  // Returns false if the streams end first. Fails the test if the program is
  // silent for too long.
  bool wait_for(const std::string& text, int times = 1);

  // Reads both streams to their end and waits for the process.
  Outcome wait();

  // The same; sends `signal` again and again meanwhile. mpirun loses a signal that
  // comes before it has noticed that its ranks run.
  Outcome wait_sending(int signal);

  // Waits only for the process; does not read the streams.
  void wait_for_exit();

  // Living processes that have inherited the mark.
  std::vector<pid_t> alive() const;

  // True as soon as none is alive; false after a minute.
  bool all_gone() const;

 private:
  bool read_some();

  std::string mark_;
  pid_t pid_ = -1;
  bool reaped_ = false;
  int fds_[2] = {-1, -1};
  Outcome outcome_;
};

}  // namespace hvd::launcher
