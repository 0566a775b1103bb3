// SPDX-License-Identifier: Apache-2.0
// A Statement is one step of a program of the differential test: what to do, to
// which tensors, with which numbers.
//
//   {"do": "softmax", "of": ["a"], "dim": -1, "as": ["b"]}
//
// "of", "gradients" and "inputs" name tensors (null: an undefined one), "as" is
// what the results shall be called; everything else is the operation's own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "horovodpp/autograd.h"
#include "nlohmann/json.hpp"

namespace hvd::differential {

// What a program has made so far, by name.
using Tensors = std::map<std::string, Tensor>;

// An operand was not made: what should have made it failed.
struct MissingOperand {};

class Statement {
 public:
  // Both live as long as the statement.
  //   MissingOperand  a tensor that it names is not there
  Statement(const nlohmann::json& json, const Tensors& tensors);

  // Operand i of "of", undefined if there are not so many.
  Tensor operator[](std::size_t i) const {
    return i < operands_.size() ? operands_[i] : Tensor();
  }
  const std::vector<Tensor>& operands() const { return operands_; }
  std::vector<Tensor> tensors(const char* key) const;

  bool has(const char* key) const;  // And is not null.
  std::int64_t integer(const char* key) const { return json_.at(key); }
  bool flag(const char* key) const { return json_.at(key); }
  std::string text(const char* key) const { return json_.at(key); }
  // Which may be "nan", "inf" or "-inf".
  double number(const char* key) const;
  std::vector<double> numbers(const char* key) const;
  std::vector<std::int64_t> integers(const char* key) const;
  autograd::Dims dims(const char* key) const;
  Pair pair(const char* key) const;
  DType dtype(const char* key) const;
  // What stands between the brackets of x[...]: numbers, [start, end, step],
  // "...", "new", or {"tensor": i} for operand i.
  std::vector<autograd::Index> indices() const;

 private:
  const nlohmann::json& json_;
  const Tensors& named_;
  std::vector<Tensor> operands_;
};

}  // namespace hvd::differential
