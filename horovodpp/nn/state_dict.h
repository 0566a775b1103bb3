// SPDX-License-Identifier: Apache-2.0
// A StateDict is the state of a model, an optimizer or a learning-rate schedule
// as named tensors. Several StateDicts form one checkpoint, which is written
// in one step:
//
//   StateDict all = with_prefix("model.", model.state_dict());
//   append(all, with_prefix("optimizer.", optimizer.state_dict()));
//   save_safetensors("checkpoint.safetensors", all);
//   ...
//   all = load_safetensors("checkpoint.safetensors").tensors;
//   model.load_state_dict(without_prefix("model.", all));
//   optimizer.load_state_dict(without_prefix("optimizer.", all));
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace nn {

// A tensor with its name in a model, an optimizer or a file.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

using StateDict = std::vector<NamedTensor>;

struct LoadOptions {
  // Whether missing and unknown keys are errors.
  bool strict = true;
  // Whether to convert a different dtype instead of failing.
  bool convert = false;
  // The source of the state, for messages.
  std::string source = "the state";
};

struct LoadResult {
  std::vector<std::string> missing;
  std::vector<std::string> unknown;
};

// The same tensors, named "<prefix><name>".
StateDict with_prefix(const std::string& prefix, const StateDict& state);
// The tensors whose names start with `prefix`, without that prefix.
StateDict without_prefix(const std::string& prefix, const StateDict& state);
// Appends `more` to `state`.
void append(StateDict& state, const StateDict& more);

// A scalar as a tensor without dimensions, exact: float64 or int64.
Tensor scalar_tensor(double value);
Tensor count_tensor(std::int64_t value);
// The value of such a tensor.
//   InvalidArgument  the shape or dtype differs; names `key`
double scalar_of(const NamedTensor& entry);
std::int64_t count_of(const NamedTensor& entry);

// One checked assignment of a load: `from` is to be copied to `target`.
struct Assignment {
  std::string key;
  Tensor target;
  Tensor from;
};

// Throws InvalidArgument with key, expected and found if shapes differ or,
// unless options.convert, dtypes differ.
void check_assignment(const Assignment& assignment, const LoadOptions& options);
// Copies all elements; not recorded.
void assign(const std::vector<Assignment>& assignments);
// If options.strict, throws InvalidArgument with the list of missing and
// unknown keys, if any.
void check_keys(const LoadResult& result, const LoadOptions& options);

}  // namespace nn
}  // namespace hvd
