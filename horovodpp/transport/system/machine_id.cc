// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/system/machine_id.h"

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

}  // namespace hvd::transport
