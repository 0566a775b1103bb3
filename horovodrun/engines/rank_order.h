// SPDX-License-Identifier: Apache-2.0
// The launcher gives orders about ranks of an elastic job to the starter, by
// lines on a pipe whose number is in an environment variable:
//
//   start RANK HOST     a newcomer; without HOST, on the starter's own host
//   signal RANK SIGNAL  for the agent of a rank
#pragma once

#include <optional>
#include <string>

namespace hvd::launcher {

inline constexpr char kOrdersVariable[] = "HOROVODRUN_ORDERS";

struct RankOrder {
  int rank = 0;
  int signal = 0;      // 0: start the rank.
  std::string host{};  // Of a start.

  friend bool operator==(const RankOrder&, const RankOrder&) = default;
};

std::string to_line(const RankOrder& order);
// Removes a whole line from the front of `text`; nullopt: there is none, or it
// is no order.
std::optional<RankOrder> take_rank_order(std::string& text);

}  // namespace hvd::launcher
