// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/state_dict.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/error.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::nn {
namespace {

// "'a', 'b', 'c' and 14 more".
std::string list_of(const std::vector<std::string>& keys) {
  constexpr std::size_t kMost = 10;
  std::vector<std::string> few;
  for (std::size_t i = 0; i < std::min(keys.size(), kMost); ++i) {
    few.push_back(absl::StrCat("'", keys[i], "'"));
  }
  std::string text = absl::StrJoin(few, ", ");
  if (keys.size() > kMost) {
    absl::StrAppend(&text, " and ", keys.size() - kMost, " more");
  }
  return text;
}

template <typename T>
T only_element(const NamedTensor& entry) {
  const Tensor& tensor = entry.tensor;
  if (!tensor.defined() || tensor.dtype() != dtype_of<T> || tensor.dim() != 0) {
    throw InvalidArgument(absl::StrCat(
        "'", entry.name, "' should be ", name_of(dtype_of<T>), "[], but is ",
        tensor.defined() ? tensor.describe() : "undefined"));
  }
  return tensor.item<T>();
}

}  // namespace

StateDict with_prefix(const std::string& prefix, const StateDict& state) {
  StateDict result;
  for (const auto& [name, tensor] : state) {
    result.push_back({absl::StrCat(prefix, name), tensor});
  }
  return result;
}

StateDict without_prefix(const std::string& prefix, const StateDict& state) {
  StateDict result;
  for (const auto& [name, tensor] : state) {
    if (absl::StartsWith(name, prefix)) {
      result.push_back({name.substr(prefix.size()), tensor});
    }
  }
  return result;
}

void append(StateDict& state, const StateDict& more) {
  state.insert(state.end(), more.begin(), more.end());
}

Tensor scalar_tensor(double value) {
  return full({}, value, {.dtype = DType::kF64});
}

Tensor count_tensor(std::int64_t value) {
  return from_vector<std::int64_t>({value}, {});
}

double scalar_of(const NamedTensor& entry) {
  return only_element<double>(entry);
}

std::int64_t count_of(const NamedTensor& entry) {
  return only_element<std::int64_t>(entry);
}

void check_assignment(const Assignment& assignment,
                      const LoadOptions& options) {
  const auto& [key, target, from] = assignment;
  const auto refuse = [&, &k = key, &t = target, &f = from](
                          const std::string& what, const std::string& way_out) {
    throw InvalidArgument(
        absl::StrCat(options.source, ": ", what, " of '", k,
                     "' differs: ", "expected ", t.describe(), ", found ",
                     f.defined() ? f.describe() : "no tensor", way_out));
  };
  if (!from.defined() || from.shape() != target.shape()) {
    refuse("the shape", "; it is of another model");
  }
  if (from.dtype() != target.dtype() && !options.convert) {
    refuse("the dtype", "; LoadOptions::convert accepts it");
  }
}

void assign(const std::vector<Assignment>& assignments) {
  NoGrad no_grad;
  for (const auto& [key, target, from] : assignments) {
    target.copy_(from.to(target.dtype()));
  }
}

void check_keys(const LoadResult& result, const LoadOptions& options) {
  if (!options.strict) return;
  if (result.missing.empty() && result.unknown.empty()) return;
  std::string text = absl::StrCat(options.source, " does not fit:");
  if (!result.missing.empty()) {
    absl::StrAppend(&text, " it lacks ", list_of(result.missing));
  }
  if (!result.unknown.empty()) {
    absl::StrAppend(&text, result.missing.empty() ? "" : ", and",
                    " it has the unknown ", list_of(result.unknown));
  }
  throw InvalidArgument(text);
}

}  // namespace hvd::nn
