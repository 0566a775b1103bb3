#include <cmath>
#include <cstring>

#include "horovodpp/autograd/autocast.h"
#include "horovodpp/autograd/elementwise.h"
#include "horovodpp/autograd/factories.h"
#include "horovodpp/autograd/kernels.h"
#include "horovodpp/autograd/ops.h"
#include "horovodpp/autograd/record.h"

namespace hvd {
namespace autograd {
namespace {

// y = -x:  dx = -dy
struct NegBackward : Node {
  const char* name() const override { return "NegBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = neg(grads[0]);
  }
};

// y = e^x:  dx = dy y
struct ExpBackward : Node {
  const char* name() const override { return "ExpBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = mul(grads[0], result.unpack(*this));
  }
  void release_saved() override { result.release(); }
  SavedTensor result;
};

// y = ln x:  dx = dy / x
struct LogBackward : Node {
  const char* name() const override { return "LogBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = div(grads[0], self.unpack(*this));
  }
  void release_saved() override { self.release(); }
  SavedTensor self;
};

// y = max(x, 0):  dx = dy where y > 0, else 0
struct ReluBackward : Node {
  const char* name() const override { return "ReluBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = relu_backward(grads[0], result.unpack(*this));
  }
  void release_saved() override { result.release(); }
  SavedTensor result;
};

// dx = relu_backward(dy, y), linear in dy:  ddy = relu_backward(ddx, y)
struct ReluBackwardBackward : ReluBackward {
  const char* name() const override { return "ReluBackwardBackward"; }
};

// y = x in another dtype:  dx = dy in x's dtype
struct ToBackward : Node {
  const char* name() const override { return "ToBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = to(grads[0], dtype);
  }
  DType dtype = DType::kF32;
};

// y = x:  dx = dy
struct CloneBackward : Node {
  const char* name() const override { return "CloneBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = std::move(grads[0]);
  }
};

template <typename To, typename From>
To converted(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, f16> ||
                       std::is_same_v<From, bf16>) {
    return converted<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, f16> || std::is_same_v<To, bf16>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> &&
                       std::is_integral_v<To>) {
    return scalar_to<To>(static_cast<double>(value));
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace

Tensor relu_backward(const Tensor& grad, const Tensor& y) {
  Tensor out = empty_like(grad);
  visit_any_floating(grad.dtype(), "relu", [&]<typename T>(TypeTag<T>) {
    map2<T>(out, grad, y, [](auto g, auto v) { return v > 0 ? g : 0; });
  });
  if (needs_grad(grad)) {
    auto node = make_node<ReluBackwardBackward>(grad);
    node->result.save(y.detach());
    set_history(out, std::move(node));
  }
  return out;
}

void convert_into(const Tensor& out, const Tensor& x) {
  if (out.dtype() == x.dtype() && is_dense(x.sizes(), x.strides()) &&
      same_layout(x.sizes(), out.strides(), x.strides())) {
    if (x.bytes() != 0) std::memmove(out.raw_data(), x.raw_data(), x.bytes());
    return;
  }
  visit(out.dtype(), [&]<typename To>(TypeTag<To>) {
    visit(x.dtype(), [&]<typename From>(TypeTag<From>) {
      map<To, From>(out, x, [](auto v) { return converted<To>(v); });
    });
  });
}

Tensor clone_with_strides(const Tensor& x, const Dims& strides) {
  Tensor out = empty_strided(x.sizes(), strides, x.dtype());
  convert_into(out, x);
  if (needs_grad(x)) set_history(out, make_node<CloneBackward>(x));
  return out;
}

}  // namespace autograd

using autograd::make_node;
using autograd::needs_grad;
using autograd::set_history;

Tensor neg(const Tensor& x) {
  autograd::check_defined(x, "neg");
  Tensor out = empty_like(x);
  autograd::visit_arithmetic(x.dtype(), "neg", [&]<typename T>(TypeTag<T>) {
    autograd::map<T, T>(out, x, [](auto v) { return -v; });
  });
  if (needs_grad(x)) set_history(out, make_node<autograd::NegBackward>(x));
  return out;
}

Tensor exp(const Tensor& x) {
  if (autograd::autocast_widens(x)) return exp(autograd::autocast_wider(x));
  Tensor out = autograd::floating(x, "exp", [](auto v) { return std::exp(v); });
  if (needs_grad(x)) {
    auto node = make_node<autograd::ExpBackward>(x);
    set_history(out, node);
    node->result.save_output(out);
  }
  return out;
}

Tensor log(const Tensor& x) {
  if (autograd::autocast_widens(x)) return log(autograd::autocast_wider(x));
  Tensor out = autograd::floating(x, "log", [](auto v) { return std::log(v); });
  if (needs_grad(x)) {
    auto node = make_node<autograd::LogBackward>(x);
    node->self.save(x);
    set_history(out, std::move(node));
  }
  return out;
}

Tensor relu(const Tensor& x) {
  // Written so that NaN stays NaN.
  Tensor out = autograd::floating(x, "relu", [](auto v) {
    return v < decltype(v)(0) ? decltype(v)(0) : v;
  });
  if (needs_grad(x)) {
    auto node = make_node<autograd::ReluBackward>(x);
    set_history(out, node);
    node->result.save_output(out);
  }
  return out;
}

Tensor to(const Tensor& x, DType dtype) {
  autograd::check_defined(x, "to");
  if (x.dtype() == dtype) return x;
  Tensor out = autograd::empty_strided(
      x.sizes(), autograd::strides_like(x.sizes(), x.strides()), dtype);
  autograd::convert_into(out, x);
  if (needs_grad(x) && is_floating_point(dtype)) {
    auto node = make_node<autograd::ToBackward>(x);
    node->dtype = x.dtype();
    set_history(out, std::move(node));
  }
  return out;
}

Tensor clone(const Tensor& x) {
  autograd::check_defined(x, "clone");
  return autograd::clone_with_strides(x,
                                      autograd::contiguous_strides(x.sizes()));
}

}  // namespace hvd
