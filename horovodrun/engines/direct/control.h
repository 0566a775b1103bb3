// SPDX-License-Identifier: Apache-2.0
// Control messages go from the starter to its process on another host
// (host_ranks.h), over the standard input of the remote shell:
//
//   kOrder   the ranks to start; the first message
//   kSignal  a signal for the agents, or for that of one rank
//   kInput   bytes for the standard input of rank 0; none: its end
//   kPing    the connection is alive
//
// The end of the connection ends the ranks, and so does a long silence: a host
// that is cut off sees no end.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

inline constexpr std::chrono::milliseconds kPingInterval{10000};
inline constexpr std::chrono::milliseconds kLongestSilence{60000};

// The ranks of another host.
struct HostOrder {
  int first_rank = 0;
  int ranks = 1;
  bool are_newcomers = false;
  bool takes_more = false;           // Newcomers may follow.
  std::string folder{};              // To start them in.
  std::vector<std::string> agent{};  // The command of each rank's agent.
  Environment environment{};         // Added to that of the host.
  std::chrono::milliseconds longest_silence = kLongestSilence;

  friend bool operator==(const HostOrder&, const HostOrder&) = default;
};

struct ControlMessage {
  enum class Kind : std::uint8_t {
    kOrder = 1,
    kSignal = 2,
    kInput = 3,
    kPing = 4
  };
  Kind kind = Kind::kOrder;
  HostOrder order{};
  int signal = 0;
  int rank = -1;  // That gets the signal; -1: all ranks.
  std::string input{};

  friend bool operator==(const ControlMessage&,
                         const ControlMessage&) = default;
};

std::string to_bytes(const ControlMessage& message);

// Reads messages from bytes as they arrive, in pieces of any size.
class ControlReader {
 public:
  void add(const char* bytes, std::size_t count) {
    unread_.append(bytes, count);
  }
  // The next message that is complete.
  //   InvalidArgument  the bytes are no message
  absl::StatusOr<std::optional<ControlMessage>> next();

 private:
  std::string unread_;
};

}  // namespace hvd::launcher
