// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/discovery/discovery_script.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "horovodrun/discovery/discovered_hosts.h"
#include "horovodrun/pipes/reading_pipe.h"
#include "horovodrun/system/environment.h"
#include "horovodrun/system/last_line.h"
#include "horovodrun/system/process.h"

namespace hvd::launcher {
namespace {

constexpr std::size_t kMostText = 1 << 20;
constexpr std::size_t kMostQuoted = 200;

// Reads the bytes that are there, and keeps the first kMostText of them. Closes
// `fd` at the end of the stream.
void read_available(int& fd, std::string& text) {
  char bytes[4096];
  ssize_t size = -1;
  while (fd >= 0 && (size = read(fd, bytes, sizeof bytes)) >= 0) {
    if (size == 0) close(std::exchange(fd, -1));
    if (text.size() < kMostText) {
      text.append(bytes, static_cast<std::size_t>(size));
    }
  }
}

}  // namespace

absl::Status DiscoveryScript::failure(const std::string& cause) const {
  return absl::InvalidArgumentError(
      absl::StrCat("the discovery script '", discovery_.script[0],
                   "' (--host-discovery-script) failed: ", cause));
}

std::optional<DiscoveryScript::Hosts> DiscoveryScript::start(
    Clock::TimePoint now) {
  int output = -1;
  int errors = -1;
  if (!make_reading_pipe(&output_.fd, &output) ||
      !make_reading_pipe(&errors_.fd, &errors)) {
    const int error = errno;
    if (output >= 0) close(output);
    close_streams();
    next_run_ = now + kInterval;
    return failure(std::strerror(error));
  }
  const Spawned spawned =
      spawn(discovery_.script, {.environment = current_environment(),
                                .reads_nothing = true,
                                .stdout_fd = output,
                                .stderr_fd = errors,
                                .own_group = true,
                                .death_signal = SIGKILL,
                                .mask = signal_set({})});
  close(output);
  close(errors);
  if (spawned.error != 0) {
    close_streams();
    next_run_ = now + kInterval;
    return failure(describe_start_error(spawned.error));
  }
  run_ = spawned.pid;
  took_too_long_ = false;
  next_run_ = now + kLongestRun;
  return std::nullopt;
}

std::optional<DiscoveryScript::Hosts> DiscoveryScript::proceed(
    Clock::TimePoint now) {
  read_streams();
  if (status_) {
    next_run_ = now + kInterval;
    return outcome();
  }
  if (now < next_run_) return std::nullopt;
  if (run_ < 0) return start(now);
  took_too_long_ = true;
  kill_run();
  next_run_ = now + kLongestRun;
  return std::nullopt;
}

DiscoveryScript::Hosts DiscoveryScript::outcome() {
  const int status = *std::exchange(status_, std::nullopt);
  const std::string output = std::exchange(output_.text, "");
  const std::string said =
      last_line(std::exchange(errors_.text, ""), kMostQuoted);
  close_streams();
  if (took_too_long_) {
    return failure(
        absl::StrCat("it ran for more than ",
                     std::chrono::duration<double>(kLongestRun).count(), " s"));
  }
  if (status != 0) {
    const std::string end =
        WIFSIGNALED(status)
            ? absl::StrCat("it was killed by signal ", WTERMSIG(status))
            : absl::StrCat("it exited with code ", WEXITSTATUS(status));
    return failure(said.empty() ? end : absl::StrCat(end, ": ", said));
  }
  Hosts hosts = parse_discovered(output, discovery_.slots_per_host);
  if (!hosts.ok()) return failure(std::string(hosts.status().message()));
  return hosts;
}

void DiscoveryScript::child_ended(pid_t pid, int wait_status) {
  if (pid != run_) return;
  run_ = -1;
  status_ = wait_status;
}

// With the processes that it has started.
void DiscoveryScript::kill_run() const {
  if (run_ > 0) kill(-run_, SIGKILL);
}

void DiscoveryScript::end() {
  kill_run();
  next_run_ = Clock::TimePoint::max();
  close_streams();
}

void DiscoveryScript::read_streams() {
  read_available(output_.fd, output_.text);
  read_available(errors_.fd, errors_.text);
}

void DiscoveryScript::close_streams() {
  for (Stream* stream : {&output_, &errors_}) {
    if (stream->fd >= 0) close(stream->fd);
    *stream = {};
  }
}

void DiscoveryScript::add_awaited(std::vector<pollfd>* fds) const {
  if (run_ < 0) return;
  fds->push_back({output_.fd, POLLIN, 0});
  fds->push_back({errors_.fd, POLLIN, 0});
}

}  // namespace hvd::launcher
