// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/plans/plan.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"

namespace hvd {
namespace {

using Part = CheckpointPlan::Part;

std::size_t count_stages(const std::vector<Part>& parts) {
  return parts.empty() ? 0 : parts.back().last + 1;
}

void run(const Part& part, std::vector<int>& runs) {
  for (std::size_t i = part.first; i <= part.last; ++i) ++runs[i];
}

// Counts replays in backward. The parts of a region run again, except a region
// at their end, of which only the input is needed. Then nested regions replay.
void count_replays(const std::vector<Part>& parts, std::vector<int>& runs) {
  for (const Part& part : parts) {
    if (!part.is_region()) continue;
    for (const Part& inner : part.inside) {
      if (!inner.is_region() || inner.last != part.last) run(inner, runs);
    }
    count_replays(part.inside, runs);
  }
}

std::string text_of(const std::vector<Part>& parts) {
  std::string text;
  for (const Part& part : parts) {
    if (!text.empty()) text += ' ';
    if (part.is_region()) {
      absl::StrAppend(&text, "(", text_of(part.inside), ")");
    } else {
      absl::StrAppend(&text, part.first);
      if (part.option != 0) absl::StrAppend(&text, ":", part.option);
    }
  }
  return text;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::vector<Part> parse() {
    std::vector<Part> parts = parse_parts();
    if (at_ != text_.size()) fail("a part");
    if (parts.empty()) fail("a stage");
    return parts;
  }

 private:
  // Nested regions use the stack; this depth exceeds that of real plans.
  static constexpr int kMaxDepth = 1000;

  [[noreturn]] void fail(const char* wanted) const {
    throw InvalidArgument(absl::StrCat("the text of a checkpoint plan wants ",
                                       wanted, " at position ", at_, ": ",
                                       std::string(text_.substr(0, 200))));
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_spaces() {
    while (peek() == ' ') ++at_;
  }

  std::size_t number(const char* what) {
    std::size_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] =
        std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc()) fail(what);
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  std::vector<Part> parse_parts() {
    std::vector<Part> parts;
    for (skip_spaces(); peek() != '\0' && peek() != ')'; skip_spaces()) {
      parts.push_back(peek() == '(' ? parse_region() : parse_stage());
    }
    return parts;
  }

  Part parse_stage() {
    if (number("a stage") != next_) fail("stages in ascending order");
    Part stage{.first = next_, .last = next_};
    ++next_;
    if (peek() == ':') {
      ++at_;
      stage.option = number("an option");
    }
    return stage;
  }

  Part parse_region() {
    if (++depth_ > kMaxDepth) fail("fewer nested regions");
    ++at_;
    const std::size_t first = next_;
    Part region{.first = first, .inside = parse_parts()};
    if (peek() != ')') fail("a closing parenthesis");
    if (region.inside.empty()) fail("a stage in the region that ends");
    ++at_;
    --depth_;
    // The first run passes over its stages; its recomputation follows its
    // parts.
    region.last = next_ - 1;
    return region;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t next_ = 0;
  int depth_ = 0;
};

}  // namespace

CheckpointPlan CheckpointPlan::keep_all(std::size_t stages) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < stages; ++i) {
    parts.push_back({.first = i, .last = i});
  }
  return CheckpointPlan(std::move(parts));
}

CheckpointPlan CheckpointPlan::in_segments(std::size_t stages,
                                           std::int64_t segments) {
  if (segments < 1 || static_cast<std::size_t>(segments) > stages) {
    throw InvalidArgument(absl::StrCat(
        "checkpoint_sequential: ", segments, " segments of ", stages,
        " functions; wanted are 1 to as many segments as functions"));
  }
  const std::size_t size = stages / static_cast<std::size_t>(segments);
  std::string text;
  std::size_t next = 0;
  const auto add = [&](std::size_t count) {
    for (; count > 0; --count) absl::StrAppend(&text, next++, " ");
  };
  for (std::int64_t s = 0; s + 1 < segments; ++s) {
    text += "(";
    add(size);
    text += ")";
  }
  add(stages - next);
  return CheckpointPlan::parse(text);
}

CheckpointPlan CheckpointPlan::parse(std::string_view text) {
  return CheckpointPlan(Parser(text).parse());
}

std::size_t CheckpointPlan::stages() const { return count_stages(parts_); }

std::vector<int> CheckpointPlan::forward_runs() const {
  std::vector<int> runs(stages());
  for (const Part& part : parts_) run(part, runs);
  count_replays(parts_, runs);
  return runs;
}

std::string CheckpointPlan::to_string() const { return text_of(parts_); }

void CheckpointPlan::save(const std::string& path) const {
  std::ofstream file(path);
  file << to_string() << '\n';
  file.close();
  if (file) return;
  throw Error(absl::UnavailableError(
      absl::StrCat("CheckpointPlan: cannot write '", path, "'")));
}

CheckpointPlan CheckpointPlan::load(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  if (!std::getline(file, text)) {
    throw Error(absl::NotFoundError(
        absl::StrCat("CheckpointPlan: cannot read '", path, "'")));
  }
  return parse(text);
}

}  // namespace hvd
