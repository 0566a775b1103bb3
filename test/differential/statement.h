// SPDX-License-Identifier: Apache-2.0
// A Statement is one step of a program of the differential test: an operation,
// its tensors, and its numbers.
//
//   {"do": "softmax", "of": ["a"], "dim": -1, "as": ["b"]}
//
// "of", "gradients" and "inputs" name tensors (null: an undefined one), "as"
// names the results. All other keys belong to the operation.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "horovodpp/autograd.h"
#include "nlohmann/json.hpp"

namespace hvd::differential {

// The tensors that a program has made so far, by name.
using Tensors = std::map<std::string, Tensor>;

// An operand does not exist, because the statement that makes it failed.
struct MissingOperand {};

class Statement {
 public:
  // Both must outlive the statement.
  //   MissingOperand  a named tensor does not exist
  Statement(const nlohmann::json& json, const Tensors& tensors);

  // Operand i of "of"; undefined if there are fewer.
  Tensor operator[](std::size_t i) const {
    return i < operands_.size() ? operands_[i] : Tensor();
  }
  const std::vector<Tensor>& operands() const { return operands_; }
  std::vector<Tensor> tensors(const char* key) const;

  bool has(const char* key) const;  // And is not null.
  bool is_text(const char* key) const { return json_.at(key).is_string(); }
  std::int64_t integer(const char* key) const { return json_.at(key); }
  bool flag(const char* key) const { return json_.at(key); }
  std::string text(const char* key) const { return json_.at(key); }
  // A number of the category that it has in Python.
  Scalar scalar(const char* key) const;
  // May be "nan", "inf" or "-inf".
  double number(const char* key) const;
  std::vector<double> numbers(const char* key) const;
  std::vector<std::int64_t> integers(const char* key) const;
  autograd::Dims dims(const char* key) const;
  Pair pair(const char* key) const;
  DType dtype(const char* key) const;
  // The content of the brackets of x[...]: numbers, [start, end, step], "...",
  // "new", or {"tensor": i} for operand i.
  std::vector<autograd::Index> indices() const;

 private:
  const nlohmann::json& json_;
  const Tensors& named_;
  std::vector<Tensor> operands_;
};

}  // namespace hvd::differential
