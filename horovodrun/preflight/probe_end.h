// SPDX-License-Identifier: Apache-2.0
// Explains why a probe of a host failed: a message with the host, the cause and
// the way out.
//
// Without I/O.
#pragma once

#include <chrono>
#include <string>

namespace hvd::launcher {

// How the program that connected to a host ended.
struct ProbeEnd {
  std::string host{};     // As the user calls it.
  std::string shell{};    // The program: "ssh".
  std::string program{};  // The path of horovodrun on the host.
  int code = 0;           // The exit code, or minus the signal.
  std::string errors{};   // The end of its standard error.
};

std::string explain(const ProbeEnd& end);
// Whether the host's name has no address here.
bool is_unknown_name(const ProbeEnd& end);
// It has not ended, and the host has not answered within `time`.
std::string explain_silence(const std::string& host,
                            std::chrono::milliseconds time);
// The host runs another version than this one.
std::string explain_version(const ProbeEnd& end, const std::string& theirs,
                            const std::string& ours);

}  // namespace hvd::launcher
