// SPDX-License-Identifier: Apache-2.0
// Fetches the timelines of ranks on other hosts after the job, by the remote
// shell that had started the ranks there. On each host runs a part sender.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "horovodrun/system/environment.h"
#include "horovodrun/timeline/part_sender.h"

namespace hvd::launcher {

struct PartFetchOptions {
  PartsRequest request{};
  std::vector<std::string> hosts{};  // To ask; each once, this host is none.
  std::vector<std::string> shell{};  // The remote shell and its options.
  std::string program{};             // The path of horovodrun on the hosts.
  Environment environment{};         // Of the shell.
  std::uint64_t most_bytes = std::uint64_t{2} << 30;  // Of all files.
  // For a host that sends nothing.
  std::chrono::milliseconds longest_silence{10000};
};

struct PartFetchResult {
  // Why a host's files could not be fetched, by host: "host 'b' cannot be …".
  std::map<std::string, std::string> problems{};
  // The bytes of files that stay on their host because they are too large, by
  // rank.
  std::map<int, std::uint64_t> too_large{};
};

// Stores each file that it gets beside `request.path`, under its part_name(),
// and has it removed on its host. Waits until all hosts have answered, or have
// sent nothing for a while. The process ignores SIGPIPE.
PartFetchResult fetch_parts(const PartFetchOptions& options);

}  // namespace hvd::launcher
