// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/system/host.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace hvd::transport {

std::string machine_id(const std::string& host) {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::array<char, 64> processes = {};
  if (::readlink("/proc/self/ns/pid", processes.data(), processes.size() - 1) <
      0) {
    processes[0] = '\0';
  }
  return absl::StrCat(host, "/", boot, "/", processes.data());
}

void ignore_broken_pipes() {
  struct sigaction action = {};
  if (::sigaction(SIGPIPE, nullptr, &action) != 0) return;
  if ((action.sa_flags & SA_SIGINFO) != 0 || action.sa_handler != SIG_DFL) {
    return;
  }
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, nullptr);
}

}  // namespace hvd::transport
