// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/elementwise_ops.h"

#include <cstdint>
#include <cstring>
#include <functional>

#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/kernel/functions/choice_loop.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/elementwise.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/gpu/gpu_elements.h"
#include "horovodpp/tensor/map.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

Comparison named(std::equal_to<>) { return Comparison::kEq; }
Comparison named(std::not_equal_to<>) { return Comparison::kNe; }
Comparison named(std::less<>) { return Comparison::kLt; }
Comparison named(std::less_equal<>) { return Comparison::kLe; }
Comparison named(std::greater<>) { return Comparison::kGt; }
Comparison named(std::greater_equal<>) { return Comparison::kGe; }

// The same on the GPU of `out`.
void compare_there(const Tensor& out, const Tensor& a, const Tensor& b,
                   const char* operation, Comparison comparison) {
  const Tensor x = brought_to(out, a, operation);
  const Tensor y = brought_to(out, b, operation);
  const GpuElements second = gpu_elements(y, out.shape());
  compare_on_gpu({.device = out.device(),
                  .shape = out.shape(),
                  .out = gpu_elements(out, out.shape()),
                  .x = gpu_elements(x, out.shape()),
                  .y = &second},
                 comparison);
}

template <typename F>
Tensor compared(const Tensor& a, const Tensor& b, const char* operation, F f) {
  if (a.dtype() != b.dtype()) [[unlikely]] {
    const DType dtype = result_type(a, b);
    return compared(in_dtype(a, dtype), in_dtype(b, dtype), operation, f);
  }
  const Device device = a.device().is_cpu() ? b.device() : a.device();
  const Tensor out = empty(broadcast(a.shape(), b.shape(), operation),
                           {.dtype = DType::kBool, .device = device});
  if (!device.is_cpu()) [[unlikely]] {
    compare_there(out, a, b, operation, named(f));
    return out;
  }
  visit(a.dtype(),
        [&]<typename T>(TypeTag<T>) { map2<T, bool>(out, a, b, f); });
  return out;
}

template <typename F>
Tensor compare(const Tensor& a, const Tensor& b, OperationName operation, F f) {
  check_defined(a, operation.text());
  check_defined(b, operation.text());
  report_reads(a, b);
  return result_of(operation,
                   [&] { return compared(a, b, operation.text(), f); });
}

// `number` as an element of a floating-point dtype; as it is for others.
double rounded(double number, DType dtype) {
  if (!is_floating_point(dtype)) return number;
  double result = number;
  visit_any_floating(dtype, "compare", [&]<typename T>(TypeTag<T>) {
    result = static_cast<double>(loaded(scalar_to<T>(number)));
  });
  return result;
}

template <typename F>
Tensor compare(const Tensor& a, double b, OperationName operation, F f) {
  check_defined(a, operation.text());
  report_reads(a);
  return result_of(operation, [&] {
    const Tensor out =
        empty(a.shape(), {.dtype = DType::kBool, .device = a.device()});
    if (!a.device().is_cpu()) [[unlikely]] {
      compare_on_gpu({.device = a.device(),
                      .shape = a.shape(),
                      .out = gpu_elements(out, a.shape()),
                      .x = gpu_elements(a, a.shape())},
                     named(f), rounded(b, a.dtype()));
      return out;
    }
    visit(a.dtype(), [&]<typename T>(TypeTag<T>) {
      // Rounded as an element would be; integer comparisons keep b exact.
      if constexpr (std::is_integral_v<T>) {
        map<bool, T>(out, a,
                     [f, b](auto v) { return f(static_cast<double>(v), b); });
      } else {
        map<bool, T>(out, a, [f, number = loaded(scalar_to<T>(b))](auto v) {
          return f(v, number);
        });
      }
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

// A row of elements of four bytes, whose step is 0 or 1.
template <typename T>
ChoiceRow words_of(const T* row, std::int64_t step) {
  return {reinterpret_cast<const std::uint32_t*>(row), step == 0};
}

// a and b have the dtype of `out`.
template <typename T>
void choose(const Tensor& out, const Tensor& condition, const Tensor& a,
            const Tensor& b) {
  const Dims& shape = out.shape();
  const Walk<4> walk(
      shape, {out.strides(), broadcast_strides(condition, shape),
              broadcast_strides(a, shape), broadcast_strides(b, shape)});
  const auto [so, sc, sa, sb] = walk.row_steps();
  const std::int64_t n = walk.row_size();
  const bool in_words = sizeof(T) == sizeof(std::uint32_t) && so == 1 &&
                        sc == 1 && (sa == 0 || sa == 1) && (sb == 0 || sb == 1);
  const auto run_row = [&, so = so, sc = sc, sa = sa, sb = sb](
                           const auto& at, std::int64_t begin,
                           std::int64_t end) {
    T* o = out.data<T>() + at[0];
    const bool* c = condition.data<bool>() + at[1];
    const T* x = a.data<T>() + at[2];
    const T* y = b.data<T>() + at[3];
    if (in_words) {
      choose_row(c + begin, words_of(x + begin * sa, sa),
                 words_of(y + begin * sb, sb),
                 reinterpret_cast<std::uint32_t*>(o + begin),
                 static_cast<std::size_t>(end - begin));
      return;
    }
    for (std::int64_t i = begin; i < end; ++i) {
      o[i * so] = c[i * sc] ? x[i * sa] : y[i * sb];
    }
  };
  if (walk.rows() == 1) {
    parallel_for({.count = n}, [&](std::int64_t begin, std::int64_t end) {
      run_row(Walk<4>::Offsets{}, begin, end);
    });
    return;
  }
  for_each_row_in_parallel(walk, [&](const auto& at) { run_row(at, 0, n); });
}

Tensor chosen(const Tensor& condition, const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype()) [[unlikely]] {
    const DType dtype = result_type(a, b);
    return chosen(condition, in_dtype(a, dtype), in_dtype(b, dtype));
  }
  const Tensor out = empty(broadcast(broadcast(a.shape(), b.shape(), "where"),
                                     condition.shape(), "where"),
                           {.dtype = a.dtype()});
  visit(a.dtype(),
        [&]<typename T>(TypeTag<T>) { choose<T>(out, condition, a, b); });
  return out;
}

// A bound of elements of this dtype, within its range.
double held_bound(Scalar bound, DType dtype) {
  double held = bound.value();
  if (category_of(dtype) != DTypeCategory::kInteger) return held;
  visit_integers(dtype, "clamp", [&]<typename T>(TypeTag<T>) {
    held = static_cast<double>(scalar_to<T>(held));
  });
  return held;
}

// out[i] = !x[i], eight at a time: a bool is a byte of 0 or 1.
void flip_bools(const bool* x, bool* out, std::int64_t n) {
  constexpr std::int64_t kWord = sizeof(std::uint64_t);
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  parallel_for({.count = n, .multiple = kWord},
               [=](std::int64_t begin, std::int64_t end) {
                 std::int64_t i = begin;
                 for (; i + kWord <= end; i += kWord) {
                   std::uint64_t word = 0;
                   std::memcpy(&word, x + i, kWord);
                   word ^= kOnes;
                   std::memcpy(out + i, &word, kWord);
                 }
                 for (; i < end; ++i) out[i] = !x[i];
               });
}

}  // namespace
}  // namespace autograd

using autograd::compare;
namespace functors = autograd::functors;

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

Tensor logical_not(const Tensor& x) {
  autograd::check_defined(x, "logical_not");
  if (x.dtype() != DType::kBool || !x.is_contiguous() || !x.device().is_cpu()) {
    return eq(x, 0.0);
  }
  autograd::report_reads(x);
  return autograd::result_of("eq", [&] {
    const Tensor out = empty(x.shape(), {.dtype = DType::kBool});
    autograd::flip_bools(x.data<bool>(), out.data<bool>(), x.num_elements());
    return out;
  });
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  autograd::check_defined(condition, "where");
  autograd::check_defined(a, "where");
  autograd::check_defined(b, "where");
  if (condition.dtype() != DType::kBool) {
    autograd::throw_bad_dtype(condition.dtype(), "where: its condition",
                              "bool");
  }
  Tensor out = autograd::result_of(
      "where", [&] { return autograd::chosen(condition, a, b); });
  autograd::report_reads(condition);
  if (autograd::needs_grad(a, b)) {
    auto node = autograd::make_node<autograd::WhereBackward>(a, b);
    node->condition.save(condition);
    autograd::set_history(out, std::move(node));
  }
  return out;
}

Tensor where(const Tensor& condition, const Tensor& a, Scalar b) {
  autograd::check_defined(a, "where");
  const DType dtype = result_type(a, b);
  autograd::check_held(b.value(), dtype, "where");
  return where(condition, a, full({}, b.value(), {.dtype = dtype}));
}

Tensor clamp(const Tensor& x, Scalar least, Scalar most) {
  autograd::check_defined(x, "clamp");
  const DType dtype = result_type(x, least);
  if (dtype != x.dtype()) return clamp(to(x, dtype), least, most);
  if (result_type(x, most) != dtype) {
    return clamp(to(x, result_type(x, most)), least, most);
  }
  const double low = autograd::held_bound(least, dtype);
  const double high = autograd::held_bound(most, dtype);
  Tensor out = autograd::result_of("clamp", [&] {
    const Tensor clamped =
        autograd::elementwise<functors::AtLeast>(x, "clamp", low);
    autograd::run<functors::AtMost>({.out = clamped, .x = clamped, .c = high},
                                    "clamp");
    return clamped;
  });
  if (autograd::needs_grad(x)) {
    // dx = dy where low <= x <= high, else 0
    autograd::record_saving(
        out, "ClampBackward", x, x, [low, high](Tensor& dy, const Tensor& in) {
          const Tensor at = in.detach();
          if (is_grad_enabled()) {
            return where(ge(at, low), where(le(at, high), dy, 0.0), 0.0);
          }
          // Rounded as the elements are.
          const auto rounded = [&](double bound) {
            return to(full({}, bound, {.dtype = at.dtype()}), DType::kF64)
                .item<double>();
          };
          const Tensor dx = autograd::elementwise<functors::AtLeastBackward>(
              dy, at, "clamp", rounded(low));
          autograd::run<functors::AtMostBackward>(
              {.out = dx, .x = dx, .y = &at, .c = rounded(high)}, "clamp");
          return dx;
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
  return where(logical_not(mask), x, full({}, value, {.dtype = x.dtype()}));
}

}  // namespace hvd
