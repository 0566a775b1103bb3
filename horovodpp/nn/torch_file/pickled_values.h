// SPDX-License-Identifier: Apache-2.0
// The values of a pickle: what PyTorch writes, and nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "horovodpp/core/dtype.h"

namespace hvd::nn {

// The number of a value in its Pickle.
using ValueId = std::uint32_t;

struct PickledNone {};
struct PickledList {  // Or a tuple.
  std::vector<ValueId> items;
};
struct PickledDict {
  std::vector<std::pair<ValueId, ValueId>> entries;  // In their order.
};
// A function, a class or a constant of Python: "torch.float32".
struct PickledGlobal {
  std::string name;
};
// The memory of tensors: the record "data/<key>" of the file.
struct PickledStorage {
  std::string key;
  DType dtype = DType::kF32;
  std::int64_t elements = 0;
};
// Places count elements. All elements lie inside the storage.
struct PickledTensor {
  PickledStorage storage;
  std::int64_t offset = 0;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};
using PickledValue = std::variant<PickledNone, bool, std::int64_t, double,
                                  std::string, PickledList, PickledDict,
                                  PickledGlobal, PickledStorage, PickledTensor>;

// A list or dict may contain itself.
struct Pickle {
  std::vector<PickledValue> values;
  ValueId root = 0;

  const PickledValue& operator[](ValueId id) const { return values[id]; }
};

}  // namespace hvd::nn
