// SPDX-License-Identifier: Apache-2.0
#include "test/horovodrun/test_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {
namespace {

constexpr int kSilenceMs = 45'000;

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& text : strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

std::string Outcome::last_line() const {
  if (err.empty() || err.back() != '\n') return err;
  const size_t newline = err.rfind('\n', err.size() - 2);
  const size_t begin = newline == std::string::npos ? 0 : newline + 1;
  return err.substr(begin, err.size() - 1 - begin);
}

TestProcess::TestProcess(
    const std::vector<std::string>& argv,
    const std::map<std::string, std::string>& environment) {
  static int count = 0;
  mark_ = absl::StrCat("HVD_TEST_PROCESS=", getpid(), ".", ++count);
  std::vector<std::string> variables = {mark_};
  for (const auto& [name, value] : current_environment()) {
    const bool foreign =
        absl::StartsWith(name, "OMP") || absl::StartsWith(name, "PMI") ||
        absl::StartsWith(name, "PRTE_") || absl::StartsWith(name, "HOROVOD_");
    if (!foreign && !environment.contains(name)) {
      variables.push_back(absl::StrCat(name, "=", value));
    }
  }
  for (const auto& [name, value] : environment) {
    variables.push_back(absl::StrCat(name, "=", value));
  }
  std::vector<std::string> words = argv;
  const std::vector<char*> word_pointers = pointers(words);
  const std::vector<char*> variable_pointers = pointers(variables);
  int out[2];
  int err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) std::abort();
  pid_ = fork();
  if (pid_ == 0) {
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    // The test itself may run with these ignored.
    for (int signal : {SIGINT, SIGQUIT, SIGHUP}) std::signal(signal, SIG_DFL);
    execvpe(word_pointers[0], word_pointers.data(), variable_pointers.data());
    _exit(127);
  }
  close(out[1]);
  close(err[1]);
  fds_[0] = out[0];
  fds_[1] = err[0];
}

TestProcess::~TestProcess() {
  if (!reaped_) {
    send(SIGKILL);
    wait_for_exit();
  }
  for (int fd : fds_) {
    if (fd >= 0) close(fd);
  }
}

void TestProcess::send(int signal) const { kill(pid_, signal); }

// Returns false once both streams have ended.
bool TestProcess::read_some() {
  if (fds_[0] < 0 && fds_[1] < 0) return false;
  pollfd poll_fds[] = {{fds_[0], POLLIN, 0}, {fds_[1], POLLIN, 0}};
  if (poll(poll_fds, 2, kSilenceMs) == 0) {
    ADD_FAILURE() << "the program has written nothing for " << kSilenceMs
                  << " ms and is killed; it wrote: " << outcome_.out
                  << outcome_.err;
    send(SIGKILL);
    return false;
  }
  for (int i : {0, 1}) {
    if (poll_fds[i].revents == 0) continue;
    char bytes[1 << 16];
    const ssize_t count = read(fds_[i], bytes, sizeof bytes);
    if (count > 0) {
      (i == 0 ? outcome_.out : outcome_.err)
          .append(bytes, static_cast<size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      close(fds_[i]);
      fds_[i] = -1;
    }
  }
  return fds_[0] >= 0 || fds_[1] >= 0;
}

bool TestProcess::wait_for(const std::string& text, int times) {
  const auto seen = [&] {
    return count_of(outcome_.out, text) + count_of(outcome_.err, text) >= times;
  };
  while (!seen()) {
    if (!read_some()) return seen();
  }
  return true;
}

void TestProcess::wait_for_exit() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  reaped_ = true;
  outcome_.code =
      WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Outcome TestProcess::wait_sending(int signal) {
  std::atomic<bool> has_ended = false;
  std::thread sender([&] {
    while (!has_ended) {
      send(signal);
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  });
  while (read_some()) {
  }
  has_ended = true;
  sender.join();
  return wait();
}

Outcome TestProcess::wait() {
  while (read_some()) {
  }
  wait_for_exit();
  return outcome_;
}

std::vector<pid_t> TestProcess::alive() const {
  std::vector<pid_t> pids;
  DIR* directory = opendir("/proc");
  while (const dirent* entry = readdir(directory)) {
    const pid_t pid =
        static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid <= 0) continue;
    std::ifstream file(absl::StrCat("/proc/", pid, "/environ"));
    std::ostringstream text;
    text << file.rdbuf();  // Partial if the process just ends.
    if (absl::StrContains(std::string(1, '\0') + text.str(),
                          std::string(1, '\0') + mark_ + '\0')) {
      pids.push_back(pid);
    }
  }
  closedir(directory);
  return pids;
}

bool TestProcess::all_gone() const {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!alive().empty()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    poll(nullptr, 0, 10);
  }
  return true;
}

}  // namespace hvd::launcher
