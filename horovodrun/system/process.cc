// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/system/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace hvd::launcher {
namespace {

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& text : strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

struct Pipe {
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) ends[0] = ends[1] = -1;
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void close_end(int end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }

  int ends[2];
};

void reset_signals(const sigset_t& mask) {
  for (int signal = 1; signal < NSIG; ++signal) {
    std::signal(signal, SIG_DFL);
  }
  sigprocmask(SIG_SETMASK, &mask, nullptr);
}

void read_nothing() {
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
}

// The child's side of spawn; returns only if the program cannot be executed.
void become(char* const* argv, char** environment, const SpawnOptions& options,
            pid_t parent) {
  if (options.own_group) setpgid(0, 0);
  if (options.stdin_fd >= 0) dup2(options.stdin_fd, STDIN_FILENO);
  if (options.reads_nothing) read_nothing();
  if (options.stdout_fd >= 0) dup2(options.stdout_fd, STDOUT_FILENO);
  if (options.stderr_fd >= 0) dup2(options.stderr_fd, STDERR_FILENO);
  if (options.kept_fd >= 0) fcntl(options.kept_fd, F_SETFD, 0);
  reset_signals(options.mask);
  if (options.ignores_sigpipe) std::signal(SIGPIPE, SIG_IGN);
  if (options.death_signal != 0) {
    prctl(PR_SET_PDEATHSIG, options.death_signal);
    if (getppid() != parent) _exit(127);
  }
  environ = environment;
  execvp(argv[0], argv);
}

// Empty: it is gone, or not readable.
std::string program_of(const std::string& process) {
  char path[4096];
  const ssize_t size = readlink(absl::StrCat("/proc/", process, "/exe").c_str(),
                                path, sizeof path);
  return size > 0 ? std::string(path, static_cast<size_t>(size)) : "";
}

}  // namespace

Spawned spawn(const std::vector<std::string>& argv,
              const SpawnOptions& options) {
  std::vector<std::string> words = argv;
  std::vector<std::string> variables = to_strings(options.environment);
  std::vector<char*> word_pointers = pointers(words);
  std::vector<char*> variable_pointers = pointers(variables);
  Pipe failure;  // Closed when the program runs; else carries errno.
  if (failure.ends[0] < 0) return {-1, errno};

  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return {-1, errno};
  if (pid == 0) {
    become(word_pointers.data(), variable_pointers.data(), options, parent);
    const int error = errno;
    const ssize_t written = write(failure.ends[1], &error, sizeof error);
    _exit(written == sizeof error ? 127 : 126);
  }
  if (options.own_group) setpgid(pid, pid);
  failure.close_end(1);
  int error = 0;
  ssize_t count;
  do {
    count = read(failure.ends[0], &error, sizeof error);
  } while (count < 0 && errno == EINTR);
  if (count != sizeof error) return {pid, 0};
  waitpid(pid, nullptr, 0);
  return {-1, error};
}

std::string describe_start_error(int error) {
  std::string text = std::strerror(error);
  if (error == EAGAIN) {
    text +=
        "; allow this user or container more processes (ulimit -u, pids.max)";
  }
  return text;
}

Captured capture(const std::vector<std::string>& argv) {
  Pipe output;
  if (output.ends[0] < 0) return {"", errno};
  std::vector<std::string> words = argv;
  std::vector<char*> word_pointers = pointers(words);
  const pid_t pid = fork();
  if (pid < 0) return {"", errno};
  if (pid == 0) {
    read_nothing();
    dup2(output.ends[1], STDOUT_FILENO);
    dup2(output.ends[1], STDERR_FILENO);
    execvp(word_pointers[0], word_pointers.data());
    // The same exit codes as a shell's.
    _exit(errno == ENOENT ? 127 : 126);
  }
  output.close_end(1);
  Captured captured;
  char bytes[4096];
  ssize_t count;
  while ((count = read(output.ends[0], bytes, sizeof bytes)) > 0 ||
         (count < 0 && errno == EINTR)) {
    if (count > 0) captured.text.append(bytes, static_cast<size_t>(count));
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (captured.text.empty() && WIFEXITED(status)) {
    if (WEXITSTATUS(status) == 127) captured.error = ENOENT;
    if (WEXITSTATUS(status) == 126) captured.error = EACCES;
  }
  return captured;
}

std::optional<int> reap_children(pid_t child, const ChildEnded& of_others) {
  std::optional<int> result;
  int status = 0;
  pid_t pid;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    if (pid == child) {
      result = status;
    } else if (of_others) {
      of_others(pid, status);
    }
  }
  return result;
}

ParentWatch::ParentWatch(pid_t parent)
    : parent_(parent),
      fd_(static_cast<int>(syscall(SYS_pidfd_open, parent_, 0))) {}

ParentWatch::~ParentWatch() {
  if (fd_ >= 0) close(fd_);
}

bool ParentWatch::ended() const { return getppid() != parent_; }

bool any_runs_this_program(const std::vector<pid_t>& pids) {
  const std::string mine = program_of("self");
  return std::any_of(pids.begin(), pids.end(), [&](pid_t pid) {
    return !mine.empty() && program_of(absl::StrCat(pid)) == mine;
  });
}

std::string own_path() {
  const std::string path = program_of("self");
  return path.empty() ? "horovodrun" : path;
}

std::vector<int> without_ignored(std::vector<int> signals) {
  std::erase_if(signals, [](int signal) {
    struct sigaction present = {};
    return sigaction(signal, nullptr, &present) == 0 &&
           present.sa_handler == SIG_IGN;
  });
  return signals;
}

std::string shell_quoted(const std::vector<std::string>& argv) {
  return absl::StrJoin(
      argv, " ", [](std::string* out, const std::string& word) {
        bool plain = !word.empty();
        for (char c : word) {
          plain =
              plain && (absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                        std::string("-_=./:,@%+").find(c) != std::string::npos);
        }
        if (plain) {
          absl::StrAppend(out, word);
        } else {
          absl::StrAppend(out, "'", absl::StrReplaceAll(word, {{"'", "'\\''"}}),
                          "'");
        }
      });
}

sigset_t signal_set(const std::vector<int>& signals) {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : signals) sigaddset(&set, signal);
  return set;
}

}  // namespace hvd::launcher
