// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd {
namespace {

// Longer dimensions show this many elements at either end.
constexpr std::int64_t kEnds = 3;

template <typename T>
std::string element(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    return absl::StrCat(static_cast<float>(value));
  } else if constexpr (std::is_integral_v<T>) {
    return absl::StrCat(static_cast<std::int64_t>(value));
  } else {
    return absl::StrCat(value);
  }
}

// Recursion is at most Dims::kMax deep.
template <typename T>
void print(const Tensor& x, std::size_t dim, const T* at, std::string& out) {
  if (dim == x.shape().size()) {
    out += element(*at);
    return;
  }
  const std::int64_t size = x.shape()[dim];
  out += "[";
  for (std::int64_t i = 0; i < size; ++i) {
    if (i > 0) out += ", ";
    if (size > 2 * kEnds && i == kEnds) {
      out += "..., ";
      i = size - kEnds;
    }
    print(x, dim + 1, at + i * x.strides()[dim], out);
  }
  out += "]";
}

}  // namespace

std::string Tensor::to_string() const {
  if (!defined()) return "undefined";
  if (!device().is_cpu()) {
    const Tensor here = autograd::on_device(*this, Device::cpu());
    const std::string text = here.to_string();
    return absl::StrCat(describe(), " on ", device().to_string(),
                        text.substr(describe().size()));
  }
  std::string out = describe() + " ";
  visit(dtype(),
        [&]<typename T>(TypeTag<T>) { print(*this, 0, data<const T>(), out); });
  return out;
}

}  // namespace hvd
