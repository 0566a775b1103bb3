// SPDX-License-Identifier: Apache-2.0
// A program under test: started with its two output streams in pipes and with a
// mark in its environment, by which everything that descends from it can be
// found.
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
  // What the test's own environment says about MPI and Horovod is not passed
  // on.
  explicit TestProcess(
      const std::vector<std::string>& argv,
      const std::map<std::string, std::string>& environment = {});
  ~TestProcess();
  TestProcess(const TestProcess&) = delete;
  TestProcess& operator=(const TestProcess&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) const;

  // Reads until `text` has appeared `times` times in both streams together;
  // false if they end before. A program that is silent for too long fails the test.
  bool wait_for(const std::string& text, int times = 1);

  // Reads both streams to their end and waits for the process.
  Outcome wait();

  // Waits for the process only, and leaves the streams alone.
  void wait_for_exit();

  // Processes alive that have inherited the mark.
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
