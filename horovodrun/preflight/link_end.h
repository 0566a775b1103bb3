// SPDX-License-Identifier: Apache-2.0
// `horovodrun --measure-link`: a host's part in the test of links between hosts
// (links.h). It reads orders and writes answers, one a line:
//
//   serve KEY               opens a port, and writes it; then answers one peer
//   measure ADDRESS PORT KEY  measures the link to that peer, and writes it
//
// The peer proves itself by the first half of the key, and is answered with the
// second half; other connections are closed. A port is open for kServeTime at
// most. It ends with its input.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace hvd::launcher {

inline constexpr char kMeasureLink[] = "--measure-link";
inline constexpr std::chrono::milliseconds kServeTime{4000};
// For data in each direction, and for round trips.
inline constexpr std::chrono::milliseconds kTransferTime{500};
inline constexpr std::chrono::milliseconds kLatencyTime{200};

struct LinkFigures {
  double latency_us = 0;  // Half of a round trip, of the fastest one.
  double there = 0;       // In Mbit/s,
  double back = 0;

  friend bool operator==(const LinkFigures&, const LinkFigures&) = default;
};

// Returns the exit code.
int measure_link();

// Orders and answers.
std::string serve_order(absl::string_view key);
std::string measure_order(std::uint32_t address, int port,
                          absl::string_view key);
struct LinkAnswer {
  int port = 0;  // Of serve; 0: none.
  std::optional<LinkFigures> figures{};
  std::string problem{};  // Why there are no figures.
};
std::string to_line(const LinkAnswer& answer);
// nullopt: the line is no answer.
std::optional<LinkAnswer> parse_link_answer(absl::string_view line);

}  // namespace hvd::launcher
