// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/rank_order.h"

#include <csignal>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "horovodrun/command_line/hosts.h"

namespace hvd::launcher {

std::string to_line(const RankOrder& order) {
  if (order.signal == 0) {
    return absl::StrCat("start ", order.rank, " ", order.host, "\n");
  }
  return absl::StrCat("signal ", order.rank, " ", order.signal, "\n");
}

std::optional<RankOrder> take_rank_order(std::string& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string::npos) return std::nullopt;
  const std::string line = text.substr(0, end);
  text.erase(0, end + 1);
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  RankOrder order;
  if (words.size() != 3 || !absl::SimpleAtoi(words[1], &order.rank) ||
      order.rank < 0) {
    return std::nullopt;
  }
  if (words[0] == "start") {
    order.host = std::string(words[2]);
    if (order.host.empty() || is_host_name(order.host)) return order;
  }
  if (words[0] == "signal" && absl::SimpleAtoi(words[2], &order.signal) &&
      order.signal > 0 && order.signal < NSIG) {
    return order;
  }
  return std::nullopt;
}

}  // namespace hvd::launcher
