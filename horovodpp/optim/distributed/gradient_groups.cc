// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/distributed/gradient_groups.h"

#include <algorithm>
#include <cstddef>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"

namespace hvd::optim {

std::vector<std::vector<std::string>> GradientGroups::names_in(
    const std::vector<nn::NamedTensor>& parameters) const {
  if (number_ < 0) {
    throw InvalidArgument(absl::StrCat(
        "groups should be a non-negative integer or a list of lists of "
        "parameters, not ",
        number_));
  }
  std::vector<std::vector<std::string>> result;
  absl::flat_hash_map<const void*, std::string> names;
  std::vector<std::string> moving;
  for (const auto& [name, tensor] : parameters) {
    names[tensor.impl()] = name;
    // A group waits for all of its members, so it may contain only parameters
    // that move.
    if (tensor.requires_grad()) moving.push_back(name);
  }
  const std::size_t count =
      std::min(static_cast<std::size_t>(number_), moving.size());
  for (std::size_t g = 0; g < count; ++g) {
    const auto at = [&](std::size_t group) {
      return moving.begin() +
             static_cast<std::ptrdiff_t>(group * moving.size() / count);
    };
    result.emplace_back(at(g), at(g + 1));
  }
  absl::flat_hash_set<std::string> seen;
  for (const std::vector<Tensor>& group : groups_) {
    std::vector<std::string>& members = result.emplace_back();
    for (const Tensor& tensor : group) {
      const auto found = names.find(tensor.impl());
      if (found == names.end()) {
        throw InvalidArgument(
            "groups must consist of parameters of the optimizer");
      }
      if (!seen.insert(found->second).second) {
        throw InvalidArgument(
            absl::StrCat("A parameter can only appear once in groups. '",
                         found->second, "' appears twice"));
      }
      members.push_back(found->second);
    }
  }
  return result;
}

}  // namespace hvd::optim
