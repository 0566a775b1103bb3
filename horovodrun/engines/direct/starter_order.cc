// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/direct/starter_order.h"

#include <cstddef>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hvd::launcher {

std::vector<std::string> to_words(const StarterOrder& order) {
  std::vector<std::string> words = {
      absl::StrJoin(order.hosts, ",",
                    [](std::string* out, const Host& host) {
                      absl::StrAppend(out, host.name, ":", host.slots);
                    }),
      absl::StrCat(order.shell.size())};
  words.insert(words.end(), order.shell.begin(), order.shell.end());
  words.insert(words.end(), order.agent.begin(), order.agent.end());
  return words;
}

std::optional<StarterOrder> parse_order(const std::vector<std::string>& words) {
  std::size_t shell = 0;
  if (words.size() < 3 || !absl::SimpleAtoi(words[1], &shell) ||
      words.size() - 2 <= shell) {
    return std::nullopt;
  }
  auto hosts = parse_hosts(words[0]);
  if (!hosts.ok()) return std::nullopt;
  const auto agent = words.begin() + 2 + static_cast<std::ptrdiff_t>(shell);
  return StarterOrder{.hosts = *std::move(hosts),
                      .shell = {words.begin() + 2, agent},
                      .agent = {agent, words.end()}};
}

}  // namespace hvd::launcher
