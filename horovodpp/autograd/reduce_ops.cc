#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/autocast.h"
#include "horovodpp/autograd/factories.h"
#include "horovodpp/autograd/kernels.h"
#include "horovodpp/autograd/ops.h"
#include "horovodpp/autograd/record.h"
#include "horovodpp/autograd/rows.h"

namespace hvd {
namespace autograd {
namespace {

template <typename Sum, typename T>
Sum sum_row(const T* x, std::int64_t n, std::int64_t step) {
  if constexpr (std::is_floating_point_v<T>) {
    if (step == 1) {
      return static_cast<Sum>(rows::sum(x, static_cast<std::size_t>(n)));
    }
    double total = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      total += static_cast<double>(x[i * step]);
    }
    return static_cast<Sum>(total);
  } else {
    T total = 0;
    for (std::int64_t i = 0; i < n; ++i) total += x[i * step];
    return total;
  }
}

// Whether a walk ends in matrices whose rows lie side by side and whose columns
// are to be added up.
bool ends_in_columns(const Walk<2>& walk) {
  const auto [so, sx] = walk.row_steps();
  return walk.rank() >= 2 && so == 1 && sx == 1 &&
         walk.steps(walk.rank() - 2)[0] == 0;
}

// out += the columns of all such matrices.
template <typename Sum, typename T>
void sum_columns(const Walk<2>& walk, Sum* out, const T* in) {
  const std::size_t d = walk.rank() - 2;
  Dims sizes, out_steps, in_steps;
  for (std::size_t k = 0; k < d; ++k) {
    sizes.push_back(walk.size(k));
    out_steps.push_back(walk.steps(k)[0]);
    in_steps.push_back(walk.steps(k)[1]);
  }
  const auto n = static_cast<std::size_t>(walk.row_size());
  const auto count = static_cast<std::size_t>(walk.size(d));
  std::vector<T> part(std::is_same_v<T, Sum> ? 0 : n);
  const auto add = [&](Sum* to, const T* from) {
    if constexpr (std::is_same_v<T, Sum>) {
      rows::add_columns(from, count, walk.steps(d)[1], to, n);
    } else {
      std::fill(part.begin(), part.end(), T(0));
      rows::add_columns(from, count, walk.steps(d)[1], part.data(), n);
      for (std::size_t i = 0; i < n; ++i) to[i] += static_cast<Sum>(part[i]);
    }
  };
  const Walk<2> outer(sizes, {out_steps, in_steps});
  outer.for_each_row([&](const auto& at) {
    const auto [so, sx] = outer.row_steps();
    for (std::int64_t i = 0; i < outer.row_size(); ++i) {
      add(out + at[0] + i * so, in + at[1] + i * sx);
    }
  });
}

// out += the rows of a walk, whose strides of `out` are 0 in the dimensions that
// go.
template <typename Sum, typename T>
void sum_rows(const Walk<2>& walk, Sum* out, const T* in) {
  if constexpr (std::is_floating_point_v<T>) {
    if (ends_in_columns(walk)) return sum_columns(walk, out, in);
  }
  const auto [so, sx] = walk.row_steps();
  const std::int64_t n = walk.row_size();
  walk.for_each_row([&, so = so, sx = sx](const auto& at) {
    Sum* o = out + at[0];
    const T* row = in + at[1];
    if (so == 0) {
      *o += sum_row<Sum>(row, n, sx);
      return;
    }
    if constexpr (std::is_floating_point_v<T> && std::is_same_v<T, Sum>) {
      if (so == 1 && sx == 1) {
        rows::apply<functors::Add>(o, row, T(0), o,
                                   static_cast<std::size_t>(n));
        return;
      }
    }
    for (std::int64_t i = 0; i < n; ++i) {
      o[i * so] += static_cast<Sum>(row[i * sx]);
    }
  });
}

// out, zeroed, += x; the strides of `out` are 0 in the dimensions that go, so
// that `count` elements become one.
template <typename T>
void sum_into(const Tensor& out, const Dims& out_strides, const Tensor& x,
              std::int64_t count) {
  // Up to so many additions in float are exact enough.
  constexpr std::int64_t kFew = 64;
  if (x.num_elements() == 0) return;
  const T* in = x.data<T>();
  const auto walk = walk_as_stored<2>(x.sizes(), {out_strides, x.strides()});
  if constexpr (std::is_same_v<T, float>) {
    const std::int64_t parts =
        ends_in_columns(walk) ? count / walk.size(walk.rank() - 2) : count;
    if (parts > kFew) {
      std::vector<double> sums(static_cast<std::size_t>(out.num_elements()));
      sum_rows(walk, sums.data(), in);
      std::transform(sums.begin(), sums.end(), out.data<float>(),
                     [](double sum) { return static_cast<float>(sum); });
      return;
    }
  }
  sum_rows(walk, out.data<T>(), in);
}

// x with the dimensions in the order in which it lies in memory, and the strides
// of the result likewise: sums do not care, and walks are shortest so.
struct Ordered {
  Tensor x;
  Dims out_strides;
};
Ordered in_memory_order(const Tensor& x, const Dims& out_strides) {
  std::array<std::size_t, Dims::kMax> order{};
  const std::size_t rank = x.sizes().size();
  for (std::size_t d = 0; d < rank; ++d) order[d] = d;
  std::stable_sort(order.begin(), order.begin() + rank,
                   [&](std::size_t a, std::size_t b) {
                     return x.strides()[a] > x.strides()[b];
                   });
  Dims sizes, strides, out;
  for (std::size_t d = 0; d < rank; ++d) {
    sizes.push_back(x.sizes()[order[d]]);
    strides.push_back(x.strides()[order[d]]);
    out.push_back(out_strides[order[d]]);
  }
  return {alias(x, sizes, strides, x.storage_offset()), out};
}

struct Reduction {
  Dims kept;      // Sizes with 1 in the place of each dimension that goes.
  Dims squeezed;  // Sizes without them.
  std::int64_t count = 1;  // Elements that become one.
};

Reduction reduction_of(const Tensor& x, const Dims& dims,
                       const char* operation) {
  check_defined(x, operation);
  std::array<bool, Dims::kMax> goes{};
  for (std::int64_t dim : dims) {
    // A scalar is taken as [1].
    const std::size_t rank = std::max<std::size_t>(x.sizes().size(), 1);
    goes[checked_dim(dim, rank, operation)] = true;
  }
  if (dims.empty()) goes.fill(true);
  Reduction result;
  for (std::size_t d = 0; d < x.sizes().size(); ++d) {
    const std::int64_t size = x.sizes()[d];
    result.kept.push_back(goes[d] ? 1 : size);
    if (goes[d]) {
      result.count *= size;
    } else {
      result.squeezed.push_back(size);
    }
  }
  return result;
}

// y = sum x / divisor:  dx = dy / divisor, repeated to x's sizes
struct SumBackward : Node {
  const char* name() const override {
    return is_mean ? "MeanBackward" : "SumBackward";
  }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor grad = is_mean ? mul(grads[0], factor) : grads[0];
    results[0] = expand(reshape(grad, kept), sizes);
  }
  Dims kept;
  Dims sizes;
  double factor = 1.0;
  bool is_mean = false;
};

// Sums are made in float32 at least, and of integers in int64.
DType dtype_of_sums(DType dtype) {
  if (dtype == DType::kF64) return dtype;
  return is_floating_point(dtype) ? DType::kF32 : DType::kI64;
}

// Not recorded.
Tensor reduced(const Tensor& input, const Reduction& reduction, bool keepdim,
               bool is_mean) {
  NoGrad no_grad;
  const Tensor x = to(input, dtype_of_sums(input.dtype()));
  Tensor out = zeros(keepdim ? reduction.kept : reduction.squeezed,
                     {.dtype = x.dtype()});
  const Dims strides = broadcast_strides(
      reduction.kept, contiguous_strides(reduction.kept), x.sizes());
  visit_arithmetic(x.dtype(), "sum", [&]<typename T>(TypeTag<T>) {
    if constexpr (sizeof(T) >= sizeof(float)) {
      const auto [ordered, steps] = in_memory_order(x, strides);
      sum_into<T>(out, steps, ordered, reduction.count);
      if (!is_mean) return;
      map<T, T>(out, out,
                [f = static_cast<T>(reduction.count)](T v) { return v / f; });
    }
  });
  return is_floating_point(input.dtype()) ? to(out, input.dtype()) : out;
}

Tensor reduce(const Tensor& input, const Dims& dims, bool keepdim,
              bool is_mean) {
  const char* operation = is_mean ? "mean" : "sum";
  const Tensor x = autocast_wider(input);
  const Reduction reduction = reduction_of(x, dims, operation);
  if (is_mean && !is_floating_point(x.dtype())) {
    throw_bad_dtype(x.dtype(), operation, "floating point");
  }
  Tensor out = reduced(x, reduction, keepdim, is_mean);
  if (needs_grad(x)) {
    auto node = make_node<SumBackward>(x);
    node->kept = reduction.kept;
    node->sizes = x.sizes();
    if (is_mean) node->factor = 1.0 / static_cast<double>(reduction.count);
    node->is_mean = is_mean;
    set_history(out, std::move(node));
  }
  return out;
}

}  // namespace

double sum_of_squares(const Tensor& x) {
  check_defined(x, "sum_of_squares");
  NoGrad no_grad;
  const Tensor in = widened(x.detach()).contiguous();
  double total = 0;
  visit_floating(in.dtype(), "sum_of_squares", [&]<typename T>(TypeTag<T>) {
    const auto n = static_cast<std::size_t>(in.num_elements());
    total = rows::dot(in.data<T>(), in.data<T>(), n);
  });
  return total;
}

Tensor sum_to(const Tensor& x, const Dims& sizes) {
  if (x.sizes() == sizes) return x;
  if (!broadcasts_to(sizes, x.sizes())) {
    throw InvalidArgument(absl::StrCat(
        "sum_to: ", x.describe(), " does not sum down to ", sizes.to_string()));
  }
  Dims dims;
  const std::size_t missing = x.sizes().size() - sizes.size();
  for (std::size_t d = 0; d < x.sizes().size(); ++d) {
    const bool goes =
        d < missing || (sizes[d - missing] == 1 && x.sizes()[d] != 1);
    if (goes) dims.push_back(static_cast<std::int64_t>(d));
  }
  return reshape(sum(x, dims, true), sizes);
}

}  // namespace autograd

Tensor sum(const Tensor& x) { return sum(x, {}, false); }

Tensor sum(const Tensor& x, const autograd::Dims& dims, bool keepdim) {
  return autograd::reduce(x, dims, keepdim, false);
}

Tensor mean(const Tensor& x) { return mean(x, {}, false); }

Tensor mean(const Tensor& x, const autograd::Dims& dims, bool keepdim) {
  return autograd::reduce(x, dims, keepdim, true);
}

Tensor argmax(const Tensor& x) {
  autograd::check_defined(x, "argmax");
  if (x.dim() == 0 || x.size(-1) == 0) {
    throw InvalidArgument(absl::StrCat(
        "argmax: ", x.describe(), " has no last dimension to choose from"));
  }
  return max(x.detach(), -1).indices;
}

}  // namespace hvd
