// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/elementwise_ops.h"

#include <functional>

#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/tensor/elementwise.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

template <typename F>
Tensor compare(const Tensor& a, const Tensor& b, OperationName operation, F f) {
  check_same_dtype(a, b, operation.text());
  report_reads(a, b);
  return result_of(operation, [&] {
    const Tensor out = empty(broadcast(a.shape(), b.shape(), operation.text()),
                             {.dtype = DType::kBool});
    visit(a.dtype(),
          [&]<typename T>(TypeTag<T>) { map2<T, bool>(out, a, b, f); });
    return out;
  });
}

template <typename F>
Tensor compare(const Tensor& a, double b, OperationName operation, F f) {
  check_defined(a, operation.text());
  report_reads(a);
  return result_of(operation, [&] {
    const Tensor out = empty(a.shape(), {.dtype = DType::kBool});
    visit(a.dtype(), [&]<typename T>(TypeTag<T>) {
      // Rounded as an element would be; integer comparisons keep b exact.
      double number = b;
      if constexpr (!std::is_integral_v<T>) {
        number = static_cast<double>(loaded(scalar_to<T>(b)));
      }
      map<bool, T>(out, a, [f, number](auto v) {
        return f(static_cast<double>(v), number);
      });
    });
    return out;
  });
}

// y = c ? a : b:  da = dy where c, else 0;  db = dy where not c, else 0
struct WhereBackward : Node {
  const char* name() const override { return "WhereBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor c = condition.unpack(*this);
    if (wants(0)) results[0] = where(c, grads[0], 0.0);
    if (wants(1)) results[1] = where(logical_not(c), grads[0], 0.0);
  }
  void release_saved() override { condition.release(); }
  SavedTensor condition;
};

template <typename T>
void choose(const Tensor& out, const Tensor& condition, const Tensor& a,
            const Tensor& b) {
  const Dims& shape = out.shape();
  const Walk<4> walk(
      shape, {out.strides(), broadcast_strides(condition, shape),
              broadcast_strides(a, shape), broadcast_strides(b, shape)});
  const auto [so, sc, sa, sb] = walk.row_steps();
  const std::int64_t n = walk.row_size();
  walk.for_each_row([&, so = so, sc = sc, sa = sa, sb = sb](const auto& at) {
    T* o = out.data<T>() + at[0];
    const bool* c = condition.data<bool>() + at[1];
    const T* x = a.data<T>() + at[2];
    const T* y = b.data<T>() + at[3];
    for (std::int64_t i = 0; i < n; ++i) {
      o[i * so] = c[i * sc] ? x[i * sa] : y[i * sb];
    }
  });
}

}  // namespace
}  // namespace autograd

using autograd::compare;

Tensor eq(const Tensor& a, const Tensor& b) {
  return compare(a, b, "eq", std::equal_to<>());
}
Tensor ne(const Tensor& a, const Tensor& b) {
  return compare(a, b, "ne", std::not_equal_to<>());
}
Tensor lt(const Tensor& a, const Tensor& b) {
  return compare(a, b, "lt", std::less<>());
}
Tensor le(const Tensor& a, const Tensor& b) {
  return compare(a, b, "le", std::less_equal<>());
}
Tensor gt(const Tensor& a, const Tensor& b) {
  return compare(a, b, "gt", std::greater<>());
}
Tensor ge(const Tensor& a, const Tensor& b) {
  return compare(a, b, "ge", std::greater_equal<>());
}
Tensor eq(const Tensor& a, double b) {
  return compare(a, b, "eq", std::equal_to<>());
}
Tensor ne(const Tensor& a, double b) {
  return compare(a, b, "ne", std::not_equal_to<>());
}
Tensor lt(const Tensor& a, double b) {
  return compare(a, b, "lt", std::less<>());
}
Tensor le(const Tensor& a, double b) {
  return compare(a, b, "le", std::less_equal<>());
}
Tensor gt(const Tensor& a, double b) {
  return compare(a, b, "gt", std::greater<>());
}
Tensor ge(const Tensor& a, double b) {
  return compare(a, b, "ge", std::greater_equal<>());
}

Tensor logical_not(const Tensor& x) { return eq(x, 0.0); }

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  autograd::check_defined(condition, "where");
  if (autograd::autocast_promotes(a, b)) {
    Tensor x = a, y = b;
    autograd::autocast_promote(x, y);
    return where(condition, x, y);
  }
  autograd::check_same_dtype(a, b, "where");
  if (condition.dtype() != DType::kBool) {
    autograd::throw_bad_dtype(condition.dtype(), "where: its condition",
                              "bool");
  }
  Tensor out = autograd::result_of("where", [&] {
    const Tensor chosen = empty(
        autograd::broadcast(autograd::broadcast(a.shape(), b.shape(), "where"),
                            condition.shape(), "where"),
        {.dtype = a.dtype()});
    visit(a.dtype(), [&]<typename T>(TypeTag<T>) {
      autograd::choose<T>(chosen, condition, a, b);
    });
    return chosen;
  });
  autograd::report_reads(condition);
  if (autograd::needs_grad(a, b)) {
    auto node = autograd::make_node<autograd::WhereBackward>(a, b);
    node->condition.save(condition);
    autograd::set_history(out, std::move(node));
  }
  return out;
}

Tensor where(const Tensor& condition, const Tensor& a, double b) {
  autograd::check_defined(a, "where");
  autograd::check_held(b, a.dtype(), "where");
  return where(condition, a, full({}, b, {.dtype = a.dtype()}));
}

Tensor clamp(const Tensor& x, double low, double high) {
  Tensor out = autograd::result_of("clamp", [&] {
    return autograd::floating(x, "clamp", [low, high](auto v) {
      using T = decltype(v);
      if (v < static_cast<T>(low)) v = static_cast<T>(low);
      return v > static_cast<T>(high) ? static_cast<T>(high) : v;
    });
  });
  if (autograd::needs_grad(x)) {
    // dx = dy where low <= x <= high, else 0
    autograd::record_saving(
        out, "ClampBackward", x, x, [low, high](Tensor& dy, const Tensor& in) {
          const Tensor at = in.detach();
          return where(ge(at, low), where(le(at, high), dy, 0.0), 0.0);
        });
  }
  return out;
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) {
  autograd::check_defined(x, "masked_fill");
  autograd::check_defined(mask, "masked_fill");
  if (mask.dtype() != DType::kBool) {
    autograd::throw_bad_dtype(mask.dtype(), "masked_fill: its mask", "bool");
  }
  autograd::check_held(value, x.dtype(), "masked_fill");
  return where(logical_not(mask), x, value);
}

}  // namespace hvd
