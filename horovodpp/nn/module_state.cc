// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/nn/safetensors.h"
#include "horovodpp/nn/state_dict.h"

namespace hvd::nn {

void Module::collect_state(const std::string& prefix, StateDict& out) const {
  for (const auto& [name, tensor] : parameters_) {
    out.push_back({absl::StrCat(prefix, name), tensor});
  }
  for (const auto& [name, tensor] : buffers_) {
    const bool transient = std::find(transient_.begin(), transient_.end(),
                                     name) != transient_.end();
    if (!transient) out.push_back({absl::StrCat(prefix, name), tensor});
  }
  for (const auto& [name, module] : modules_) {
    module->collect_state(absl::StrCat(prefix, name, "."), out);
  }
}

StateDict Module::state_dict() const {
  StateDict all, result;
  collect_state("", all);
  absl::flat_hash_map<const void*, bool> seen;
  for (const auto& [name, tensor] : all) {
    if (seen.emplace(tensor.impl(), true).second) {
      result.push_back({name, tensor.detach()});
    }
  }
  return result;
}

LoadResult Module::load_state_dict(const StateDict& state,
                                   const LoadOptions& options) {
  StateDict targets;
  collect_state("", targets);
  absl::flat_hash_map<std::string, Tensor> by_name;
  for (const auto& [name, tensor] : targets) by_name.emplace(name, tensor);
  absl::flat_hash_map<const void*, bool> found;
  LoadResult result;
  std::vector<Assignment> assignments;
  for (const auto& [name, tensor] : state) {
    const auto target = by_name.find(name);
    if (target == by_name.end()) {
      result.unknown.push_back(name);
      continue;
    }
    found[target->second.impl()] = true;
    assignments.push_back({name, target->second, tensor});
  }
  for (const auto& [name, tensor] : targets) {
    // A shared tensor needs only one of its names; reports the first.
    if (found.emplace(tensor.impl(), false).second) {
      result.missing.push_back(name);
    }
  }
  check_keys(result, options);
  for (const Assignment& step : assignments) check_assignment(step, options);
  assign(assignments);
  return result;
}

void Module::save(const std::string& path) const {
  save_safetensors(path, state_dict());
}

LoadResult Module::load(const std::string& path, const LoadOptions& options) {
  LoadOptions named = options;
  named.source = absl::StrCat("'", path, "'");
  return load_state_dict(load_safetensors(path).tensors, named);
}

}  // namespace hvd::nn
