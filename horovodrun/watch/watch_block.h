// SPDX-License-Identifier: Apache-2.0
// The block of lines that --watch shows: a summary of the job, and a line for
// each rank, or for the most relevant ranks if there are many.
//
// Pure: no clock, no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hvd::launcher {

struct WatchedRank {
  enum class State {
    kStarting,  // Its agent has not reported yet.
    kRunning,   // The command runs, and has not begun to enter the job.
    kJoining,   // It looks for the other ranks.
    kInJob,
    kWaiting,  // A collective has waited for more than a moment.
    kEnded,
  };
  State state = State::kStarting;
  std::string host{};
  std::string end{};              // How it ended: "code 0".
  bool has_failed = false;        // By that end.
  std::optional<double> rate{};   // Collectives in a second.
  std::string collective{};       // The last or the waiting collective.
  double waiting_s = 0;           // For so long,
  std::vector<int> missing{};     // because these have not begun it.
  std::optional<double> cpu{};    // Percent of a core.
  std::int64_t resident_kib = 0;  // 0: unknown.
};

struct WatchSize {
  std::size_t columns = 80;
  std::size_t lines = 24;  // Of the terminal; the block takes fewer.
};

// `ranks` by number; `elapsed_s` since the start. Each line has fewer columns
// than the terminal, in ASCII, without a newline.
std::vector<std::string> watch_block(const std::vector<WatchedRank>& ranks,
                                     double elapsed_s, const WatchSize& size);

// "2", "0-3, 7", "0-3 and 12 more".
std::string ranges_of(const std::vector<int>& ranks, std::size_t most);

}  // namespace hvd::launcher
