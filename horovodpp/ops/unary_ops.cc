// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/unary_ops.h"

#include <limits>

#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/tensor/elementwise.h"
#include "horovodpp/tensor/factories.h"

namespace hvd {
namespace autograd {
namespace {

// F of x, whose derivative is 0.
template <typename F>
Tensor stepwise(const Tensor& x, OperationName operation, const char* name) {
  Tensor out =
      result_of(operation, [&] { return elementwise<F>(x, operation.text()); });
  if (needs_grad(x)) {
    record(out, name, x, [](Tensor& dy) { return zeros_like(dy); });
  }
  return out;
}

// Linear in dy:  ddy = the same of ddx
Tensor leaky_relu_backward(const Tensor& dy, const Tensor& x, double slope) {
  Tensor out =
      elementwise<functors::LeakyReluBackward>(dy, x, "leaky_relu", slope);
  if (needs_grad(dy)) {
    record_saving(out, "LeakyReluBackwardBackward", dy, x.detach(),
                  [slope](Tensor& ddx, const Tensor& at) {
                    return leaky_relu_backward(ddx, at, slope);
                  });
  }
  return out;
}

}  // namespace
}  // namespace autograd

using autograd::elementwise;
using autograd::needs_grad;
using autograd::record_saving;
using autograd::record_saving_result;
using autograd::result_of;
namespace functors = autograd::functors;

// s = sigmoid x:  dx = dy s (1 + x (1 - s))
Tensor silu(const Tensor& x) {
  Tensor out =
      result_of("silu", [&] { return elementwise<functors::Silu>(x, "silu"); });
  if (needs_grad(x)) {
    record_saving(out, "SiluBackward", x, x, [](Tensor& dy, const Tensor& in) {
      if (!is_grad_enabled()) {
        return elementwise<functors::SiluBackward>(dy, in, "silu");
      }
      const Tensor s = sigmoid(in);
      return dy * (s * (in * (1.0 - s) + 1.0));
    });
  }
  return out;
}

// dx = dy where x > 0, else slope dy
Tensor leaky_relu(const Tensor& x, double slope) {
  Tensor out = result_of("leaky_relu", [&] {
    return elementwise<functors::LeakyRelu>(x, "leaky_relu", slope);
  });
  if (needs_grad(x)) {
    record_saving(out, "LeakyReluBackward", x, x,
                  [slope](Tensor& dy, const Tensor& in) {
                    return autograd::leaky_relu_backward(dy, in, slope);
                  });
  }
  return out;
}

// dx = -dy y^3 / 2
Tensor rsqrt(const Tensor& x) {
  Tensor out = result_of(
      "rsqrt", [&] { return elementwise<functors::Rsqrt>(x, "rsqrt"); });
  if (needs_grad(x)) {
    record_saving_result(
        out, "RsqrtBackward", x, [](Tensor& dy, const Tensor& y) {
          if (!is_grad_enabled()) {
            return elementwise<functors::RsqrtBackward>(dy, y, "rsqrt");
          }
          return dy * -0.5 * y * y * y;
        });
  }
  return out;
}

Tensor sign(const Tensor& x) {
  return autograd::stepwise<functors::Sign>(x, "sign", "SignBackward");
}
Tensor floor(const Tensor& x) {
  return autograd::stepwise<functors::Floor>(x, "floor", "FloorBackward");
}
Tensor ceil(const Tensor& x) {
  return autograd::stepwise<functors::Ceil>(x, "ceil", "CeilBackward");
}
Tensor round(const Tensor& x) {
  return autograd::stepwise<functors::Round>(x, "round", "RoundBackward");
}

// NaN alone differs from itself.
Tensor isnan(const Tensor& x) { return ne(x, x); }

Tensor isinf(const Tensor& x) {
  autograd::check_defined(x, "isinf");
  if (!is_floating_point(x.dtype())) return ne(x, x);
  return eq(abs(x.detach()), std::numeric_limits<double>::infinity());
}

}  // namespace hvd
