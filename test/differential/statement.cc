// SPDX-License-Identifier: Apache-2.0
#include "statement.h"

#include <limits>

namespace hvd::differential {
namespace {

double number_of(const nlohmann::json& json) {
  if (json.is_number()) return json;
  const std::string text = json;
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  return text == "inf" ? infinity : -infinity;
}

}  // namespace

Statement::Statement(const nlohmann::json& json, const Tensors& tensors)
    : json_(json), named_(tensors), operands_(this->tensors("of")) {
  for (const char* key : {"gradients", "inputs"}) this->tensors(key);
}

std::vector<Tensor> Statement::tensors(const char* key) const {
  std::vector<Tensor> result;
  if (!has(key)) return result;
  for (const nlohmann::json& name : json_.at(key)) {
    if (name.is_null()) {
      result.emplace_back();
      continue;
    }
    const auto found = named_.find(name);
    if (found == named_.end()) throw MissingOperand();
    result.push_back(found->second);
  }
  return result;
}

bool Statement::has(const char* key) const {
  const auto found = json_.find(key);
  return found != json_.end() && !found->is_null();
}

Scalar Statement::scalar(const char* key) const {
  const nlohmann::json& value = json_.at(key);
  if (value.is_number_integer()) return value.get<std::int64_t>();
  return number_of(value);
}

double Statement::number(const char* key) const {
  return number_of(json_.at(key));
}

std::vector<double> Statement::numbers(const char* key) const {
  std::vector<double> result;
  for (const nlohmann::json& value : json_.at(key)) {
    result.push_back(number_of(value));
  }
  return result;
}

std::vector<std::int64_t> Statement::integers(const char* key) const {
  return json_.at(key);
}

autograd::Dims Statement::dims(const char* key) const {
  return autograd::Dims(integers(key));
}

Pair Statement::pair(const char* key) const {
  const std::vector<std::int64_t> values = integers(key);
  return Pair(values.at(0), values.at(1));
}

DType Statement::dtype(const char* key) const {
  const std::string name = text(key);
  for (const DType dtype : kAllDTypes) {
    if (name_of(dtype) == name) return dtype;
  }
  throw std::runtime_error("no dtype is called " + name);
}

std::vector<autograd::Index> Statement::indices() const {
  std::vector<autograd::Index> result;
  for (const nlohmann::json& index : json_.at("indices")) {
    if (index.is_number()) {
      result.emplace_back(index.get<std::int64_t>());
    } else if (index.is_array()) {
      result.emplace_back(Slice(index[0], index[1], index[2]));
    } else if (index.is_object()) {
      result.emplace_back((*this)[index.at("tensor")]);
    } else if (index == "...") {
      result.emplace_back(kEllipsis);
    } else {
      result.emplace_back(kNewAxis);
    }
  }
  return result;
}

}  // namespace hvd::differential
