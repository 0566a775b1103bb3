// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/newcomer_order.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace hvd::launcher {

std::string to_line(const NewcomerOrder& order) {
  return absl::StrCat(order.rank, " ", order.host, "\n");
}

std::optional<NewcomerOrder> take_newcomer(std::string& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string::npos) return std::nullopt;
  const std::string line = text.substr(0, end);
  text.erase(0, end + 1);
  const std::pair<absl::string_view, absl::string_view> words =
      absl::StrSplit(line, absl::MaxSplits(' ', 1));
  NewcomerOrder order;
  if (!absl::SimpleAtoi(words.first, &order.rank) || order.rank < 0 ||
      !absl::SimpleAtoi(words.second, &order.host)) {
    return std::nullopt;
  }
  return order;
}

}  // namespace hvd::launcher
