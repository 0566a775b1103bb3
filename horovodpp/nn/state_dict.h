// SPDX-License-Identifier: Apache-2.0
// A StateDict is all that a model, an optimizer or a schedule has to remember,
// as tensors with names. Several make one checkpoint, written in one step:
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
#include "horovodpp/nn/named_tensor.h"

namespace HVD_EXPORT hvd {
namespace nn {

using StateDict = std::vector<NamedTensor>;

struct LoadOptions {
  // Whether missing and unknown keys are an error.
  bool strict = true;
  // Whether another dtype is converted, instead of being an error.
  bool convert = false;
  // Where it comes from, for messages.
  std::string source = "the state";
};

struct LoadResult {
  std::vector<std::string> missing;
  std::vector<std::string> unknown;
};

// The same tensors, named "<prefix><name>".
StateDict with_prefix(const std::string& prefix, const StateDict& state);
// Those whose names begin so, named by what follows.
StateDict without_prefix(const std::string& prefix, const StateDict& state);
// Adds `more` at the end of `state`.
void append(StateDict& state, const StateDict& more);

// Scalars travel as tensors without dimensions, exactly: as float64 or int64.
Tensor scalar_tensor(double value);
Tensor count_tensor(std::int64_t value);
// The values back.
//   InvalidArgument  it is of another shape or dtype; names `key`
double scalar_of(const NamedTensor& entry);
std::int64_t count_of(const NamedTensor& entry);

// One step of loading: `from` is for `target`, so far only checked.
struct Assignment {
  std::string key;
  Tensor target;
  Tensor from;
};

// Throws the InvalidArgument that says key, expected and found if shapes differ
// or, unless options.convert, dtypes do.
void check_assignment(const Assignment& assignment, const LoadOptions& options);
// Copies elements; unrecorded.
void assign(const std::vector<Assignment>& assignments);
// Throws, if options.strict, the InvalidArgument that lists missing and unknown
// keys, if there are any.
void check_keys(const LoadResult& result, const LoadOptions& options);

}  // namespace nn
}  // namespace hvd
