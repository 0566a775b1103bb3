// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/ops/unary/functions.h"
#include "horovodpp/ops/unary/gated.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/map.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

struct NanToNum {
  static constexpr OperationName kOperation = "nan_to_num";
  static constexpr const char* kNode = "NanToNumBackward";
  static constexpr FunctionId kVector = FunctionId::kNanToNum;
  Constants constants() const { return numbers_of(nan, posinf, neginf); }
  template <typename T>
  T value(T x) const {
    if (std::isnan(x)) return static_cast<T>(nan);
    if (!std::isinf(x)) return x;
    return static_cast<T>(x > T(0) ? posinf : neginf);
  }
  template <typename T>
  static T pass(T dy, T x) {
    return std::isfinite(x) ? dy : T(0);
  }
  double nan, posinf, neginf;
};

double largest_of(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 65504.0;
    case DType::kBF16:
      return 0x1.FEp127;
    case DType::kF32:
      return static_cast<double>(std::numeric_limits<float>::max());
    default:
      return std::numeric_limits<double>::max();
  }
}

template <typename V>
bool are_close(V a, V b, const ClosenessOptions& options) {
  if (a == b) return true;
  if constexpr (std::is_floating_point_v<V>) {
    if (std::isnan(a) && std::isnan(b)) return options.equal_nan;
    if (!std::isfinite(a) || !std::isfinite(b)) return false;
  }
  const auto x = static_cast<double>(a), y = static_cast<double>(b);
  return std::abs(x - y) <= options.atol + std::abs(options.rtol * y);
}

}  // namespace
}  // namespace autograd

Tensor nan_to_num(const Tensor& x, const NanToNumOptions& options) {
  autograd::check_defined(x, "nan_to_num");
  if (!is_floating_point(x.dtype())) return clone(x);
  const double largest = autograd::largest_of(x.dtype());
  return autograd::gated(
      x, autograd::NanToNum{options.nan, options.posinf.value_or(largest),
                            options.neginf.value_or(-largest)});
}

Tensor isfinite(const Tensor& x) {
  autograd::check_defined(x, "isfinite");
  if (!is_floating_point(x.dtype())) return eq(x, x);
  return lt(abs(x.detach()), std::numeric_limits<double>::infinity());
}

Tensor isclose(const Tensor& a, const Tensor& b,
               const ClosenessOptions& options) {
  autograd::check_same_dtype(a, b, "isclose");
  autograd::report_reads(a, b);
  Tensor out = empty(autograd::broadcast(a.shape(), b.shape(), "isclose"),
                     {.dtype = DType::kBool});
  visit(a.dtype(), [&]<typename T>(TypeTag<T>) {
    autograd::map2<T, bool>(out, a, b, [&](auto x, auto y) {
      return autograd::are_close(x, y, options);
    });
  });
  return out;
}

bool allclose(const Tensor& a, const Tensor& b,
              const ClosenessOptions& options) {
  const Tensor close = isclose(a, b, options);
  const bool* begin = close.data<bool>();
  return std::all_of(begin, begin + close.num_elements(),
                     [](bool one) { return one; });
}

}  // namespace hvd
