// SPDX-License-Identifier: Apache-2.0
#include "test/benchmark/peers/work.h"

#include <regex>

namespace hvd::benchmark {

std::optional<Work> parse_work(const std::string& text) {
  static const std::regex form(
      R"(([a-z]+)\.([a-z]+):(\d{1,12})(?:x(\d{1,9}))?)");
  std::smatch parts;
  if (!std::regex_match(text, parts, form)) return std::nullopt;
  Work work = {.text = text, .operation = parts[1], .form = parts[2]};
  work.bytes = std::stoull(parts[3]);
  if (parts[4].matched) work.tensors = std::stoull(parts[4]);
  return work;
}

}  // namespace hvd::benchmark
