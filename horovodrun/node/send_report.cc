// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/node/send_report.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "horovodpp/core/host_name.h"
#include "horovodrun/system/process.h"
#include "horovodrun/system/stuck_process.h"

namespace hvd::launcher {
namespace {

constexpr std::chrono::milliseconds kReportDrainTime{200};

// mpirun forwards the bytes of one read as a unit. If it read a report in two
// parts, another rank's bytes could get in between, so earlier output must be
// read before.
void wait_until_read(int fd) {
  const auto deadline = std::chrono::steady_clock::now() + kReportDrainTime;
  int unread = 0;
  while (ioctl(fd, FIONREAD, &unread) == 0 && unread > 0 &&
         std::chrono::steady_clock::now() < deadline) {
    poll(nullptr, 0, 1);
  }
}

}  // namespace

void report_left_behind(int rank, const std::vector<pid_t>& pids,
                        const std::string& token) {
  for (const pid_t pid : pids) {
    send_report({.kind = Report::Kind::kLeftBehind,
                 .rank = rank,
                 .pid = pid,
                 .text = where_it_waits(pid)},
                token);
  }
}

void send_report(Report report, const std::string& token) {
  report.time = std::chrono::duration_cast<std::chrono::microseconds>(
                    std::chrono::system_clock::now().time_since_epoch())
                    .count();
  if (report.host.empty()) report.host = host_name();
  const std::string line = to_line(report, token);
  wait_until_read(STDERR_FILENO);
  ssize_t count;
  do {
    count = write(STDERR_FILENO, line.data(), line.size());
    if (count < 0 && errno == EAGAIN) poll(nullptr, 0, 1);
  } while (count < 0 && (errno == EINTR || errno == EAGAIN));
}

}  // namespace hvd::launcher
