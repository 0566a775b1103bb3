// SPDX-License-Identifier: Apache-2.0
#include "models/checkpointing.h"

#include <horovodpp/autograd/graph/error.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <string_view>

namespace models {
namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw hvd::InvalidArgument("'" + text + "' " + why);
}

constexpr char kBytes[] =
    "wanted are bytes, as in 512MiB, 1.5GB or 1048576, or a percentage of what "
    "keeping everything takes, as in 50%";

// The bytes of one `unit`; 0 if there is no such unit.
double bytes_of_unit(std::string_view unit) {
  std::string name(unit);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  if (name.empty() || name == "b") return 1;
  static const std::map<char, int> powers = {
      {'k', 1}, {'m', 2}, {'g', 3}, {'t', 4}};
  const auto power = powers.find(name[0]);
  if (power == powers.end()) return 0;
  const std::string rest = name.substr(1);
  if (rest.empty() || rest == "ib") return std::pow(1024.0, power->second);
  return rest == "b" ? std::pow(1000.0, power->second) : 0;
}

hvd::ChainBudget parse_budget(const std::string& text,
                              std::string_view amount) {
  double number = 0;
  const char* end = amount.data() + amount.size();
  const auto [rest, error] = std::from_chars(amount.data(), end, number);
  if (error != std::errc()) {
    refuse(text, std::string("does not say how much memory: ") + kBytes);
  }
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (!(number > 0) || !std::isfinite(number)) {
    refuse(text, std::string("leaves no memory at all: ") + kBytes);
  }
  if (unit == "%") return {.fraction = number / 100};
  const double scale = bytes_of_unit(unit);
  if (scale == 0) {
    refuse(text, "has no unit that is known, but '" + std::string(unit) +
                     "': " + kBytes);
  }
  constexpr double kMost = 0x1p62;
  return {.memory_budget =
              static_cast<std::int64_t>(std::min(number * scale, kMost))};
}

}  // namespace

Checkpointing Checkpointing::parse(const std::string& text) {
  if (text == "none") return {};
  if (text == "block") return {.form = Form::kBlock};
  if (text == "sqrt") return {.form = Form::kSqrt};
  const std::string_view all = text;
  constexpr std::string_view kPlanIs = "plan=";
  if (all.starts_with(kPlanIs)) {
    return {.form = Form::kPlan,
            .plan = hvd::CheckpointPlan::parse(all.substr(kPlanIs.size()))};
  }
  for (const auto& [name, form] : {std::pair("budget", Form::kBudget),
                                   std::pair("online", Form::kOnline)}) {
    if (!all.starts_with(name)) continue;
    const std::string_view rest = all.substr(std::string_view(name).size());
    if (rest.starts_with('=')) {
      return {.form = form, .budget = parse_budget(text, rest.substr(1))};
    }
    if (rest.empty()) {
      refuse(text, std::string("does not say how much memory: ") + kBytes +
                       ", behind '" + name + "='");
    }
  }
  refuse(
      text,
      "is no way of checkpointing; there are none, block, sqrt, budget=BYTES, "
      "online=BYTES and plan=PLAN");
}

}  // namespace models
