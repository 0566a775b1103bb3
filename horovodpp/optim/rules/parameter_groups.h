// SPDX-License-Identifier: Apache-2.0
// Groups of parameters by patterns of their names.
//
//   AdamW optimizer(hvd::optim::grouped_by_name<AdamWOptions>(
//       model.named_parameters(),
//       {{"*.bias", {.weight_decay = 0.0}}, {"*norm*", {.weight_decay = 0.0}}},
//       {.weight_decay = 0.1}));
//
// "*" in a pattern stands for any characters, also dots and none.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "horovodpp/core/error.h"
#include "horovodpp/core/export.h"
#include "horovodpp/optim/grouped_optimizer.h"

namespace HVD_EXPORT hvd {
namespace optim {

bool name_matches(std::string_view pattern, std::string_view name);

template <typename Options>
struct NamePattern {
  std::string pattern;
  Options options = {};
};

// One group for each pattern, in order, and one for the rest, which may be
// empty. A parameter belongs to the first pattern that its name matches.
//   InvalidArgument  no parameter belongs to a pattern
template <typename Options>
std::vector<ParameterGroup<Options>> grouped_by_name(
    const std::vector<nn::NamedTensor>& parameters,
    const std::vector<NamePattern<Options>>& patterns,
    const Options& rest = {}) {
  std::vector<ParameterGroup<Options>> groups;
  for (const auto& [pattern, options] : patterns) {
    groups.push_back({{}, options});
  }
  groups.push_back({{}, rest});
  for (const nn::NamedTensor& parameter : parameters) {
    std::size_t group = 0;
    while (group < patterns.size() &&
           !name_matches(patterns[group].pattern, parameter.name)) {
      ++group;
    }
    groups[group].parameters.push_back(parameter);
  }
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (!groups[i].parameters.empty()) continue;
    throw InvalidArgument("no parameter belongs to the pattern '" +
                          patterns[i].pattern + "'");
  }
  return groups;
}

}  // namespace optim
}  // namespace hvd
