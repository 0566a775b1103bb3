// SPDX-License-Identifier: Apache-2.0
#include "description.h"

#include <span>
#include <string>

#include "horovodpp/autograd.h"

namespace hvd::differential {
namespace {

std::string hexadecimal(std::span<const unsigned char> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string result;
  result.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) {
    result += kDigits[byte >> 4];
    result += kDigits[byte & 15];
  }
  return result;
}

std::string values_of(const Tensor& tensor) {
  const NoGrad no_grad;
  const Tensor rows = clone(tensor);
  return hexadecimal(
      {static_cast<const unsigned char*>(rows.raw_data()), rows.bytes()});
}

nlohmann::json version_of(const Tensor& tensor) {
  if (tensor.is_inference()) return nullptr;
  return tensor.version();
}

// Without the gradient, because a tensor can be its own gradient.
nlohmann::json describe_alone(const Tensor& tensor) {
  const autograd::Dims& sizes = tensor.shape();
  return {name_of(tensor.dtype()),
          std::vector<std::int64_t>(sizes.begin(), sizes.end()),
          tensor.requires_grad(),
          tensor.is_leaf(),
          version_of(tensor),
          values_of(tensor)};
}

}  // namespace

nlohmann::json describe(const Tensor& tensor) {
  if (!tensor.defined()) return nullptr;
  try {
    nlohmann::json result = describe_alone(tensor);
    const bool may_have_gradient = tensor.is_leaf() || tensor.retains_grad();
    const Tensor gradient = may_have_gradient ? tensor.grad() : Tensor();
    result.push_back(gradient.defined() ? describe_alone(gradient) : nullptr);
    return result;
  } catch (const autograd::AutogradError&) {  // Its history became invalid.
    return nlohmann::json::array({"unusable"});
  }
}

}  // namespace hvd::differential
