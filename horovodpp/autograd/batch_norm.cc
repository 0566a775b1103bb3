#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/factories.h"
#include "horovodpp/autograd/kernels.h"
#include "horovodpp/autograd/norm_loops.h"
#include "horovodpp/autograd/ops.h"
#include "horovodpp/autograd/record.h"
#include "horovodpp/autograd/spatial_ops.h"

namespace hvd {
namespace autograd {
namespace {

// Strides of [n, c, ...] with the channels last.
Dims strides_of(const Dims& sizes) {
  Dims strides = contiguous_strides(sizes);
  const std::int64_t channels = sizes[1];
  strides[1] = 1;
  std::int64_t step = channels;
  for (std::size_t d = sizes.size(); d-- > 2;) {
    strides[d] = step;
    step *= sizes[d];
  }
  strides[0] = step;
  return strides;
}

// x as a matrix with a column for each channel.
Tensor as_matrix(const Tensor& x) {
  const Dims strides = strides_of(x.sizes());
  if (same_layout(x.sizes(), x.strides(), strides)) return x;
  return clone_with_strides(x.detach(), strides);
}

MatrixSize matrix_size(const Tensor& x) {
  const std::int64_t channels = x.size(1);
  return {channels == 0 ? 0 : x.num_elements() / channels, channels};
}

// [c] as [1, c, 1, ...], as many dimensions as x.
Tensor along_channels(const Tensor& parameter, const Tensor& x) {
  Dims sizes = Dims::filled(x.sizes().size(), 1);
  sizes[1] = x.size(1);
  return reshape(parameter, sizes);
}

// `parameter` in this dtype; ones or zeros if there is none.
Tensor parameter_in(DType dtype, const Tensor& parameter, std::int64_t channels,
                    double otherwise) {
  if (parameter.defined()) return to(parameter, dtype).contiguous();
  return full({channels}, otherwise, {.dtype = dtype});
}

// Mean and 1 / sqrt(variance + eps), in the dtype that is computed in.
struct Statistics {
  Tensor mean;
  Tensor rstd;
};

Statistics statistics_of(const std::vector<double>& mean,
                         const std::vector<double>& variance, DType dtype,
                         double eps) {
  std::vector<double> rstd;
  rstd.reserve(variance.size());
  for (double v : variance) rstd.push_back(1.0 / std::sqrt(v + eps));
  const Dims sizes{static_cast<std::int64_t>(mean.size())};
  return {to(from_vector(mean, sizes), dtype),
          to(from_vector(rstd, sizes), dtype)};
}

// x normalized, scaled and shifted; x wide, the result of dtype `out`.
Tensor normalized(const Tensor& x, const Statistics& statistics,
                  const Tensor& weight, const Tensor& bias) {
  const DType dtype = x.dtype();
  const std::int64_t channels = x.size(1);
  const Tensor scale =
      mul(parameter_in(dtype, weight, channels, 1.0), statistics.rstd);
  const Tensor shift = sub(parameter_in(dtype, bias, channels, 0.0),
                           mul(statistics.mean, scale));
  Tensor out = empty_strided(x.sizes(), strides_of(x.sizes()), dtype);
  const Tensor matrix = as_matrix(x);
  visit_floating(dtype, "batch_norm", [&]<typename T>(TypeTag<T>) {
    scale_columns(matrix_size(x), {matrix.data<T>(), scale.data<T>(),
                                   shift.data<T>(), out.data<T>()});
  });
  return out;
}

// z = (x - mean) rstd, y = z w + b, sums over all but the channels, of which
// each is `count` elements:
//   training: dx = w rstd (dy - sum dy / count - z sum dy z / count)
//   else:     dx = w rstd dy
//   dw = sum dy z,  db = sum dy
struct BatchNormBackward : Node {
  const char* name() const override { return "BatchNormBackward"; }

  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Statistics s{mean.unpack(*this), rstd.unpack(*this)};
    if (is_grad_enabled()) {
      apply_recorded(s, grads[0], results);
    } else {
      visit_floating(s.mean.dtype(), "batch_norm", [&]<typename T>(TypeTag<T>) {
        apply_fused<T>(s, grads[0], results);
      });
    }
  }

  template <typename T>
  void apply_fused(const Statistics& s, const Tensor& grad,
                   std::span<Tensor> results) {
    const Tensor x = as_matrix(widened(input.unpack(*this).detach()));
    const Tensor g = as_matrix(widened(grad));
    const MatrixSize size = matrix_size(x);
    const auto channels = static_cast<std::size_t>(size.columns);
    std::vector<double> sum(channels), dot(channels);
    sum_columns(size, {x.data<T>(), g.data<T>(), s.mean.data<T>(), sum.data(),
                       dot.data()});
    parameter_gradients(sum, dot, s.rstd.data<T>(), results);
    if (!wants(0)) return;
    const Tensor w =
        parameter_in(x.dtype(), weight.unpack(*this), size.columns, 1.0);
    std::vector<T> a(channels), b(channels), c(channels);
    for (std::size_t i = 0; i < channels; ++i) {
      const double r = s.rstd.data<T>()[i];
      const double factor = r * w.data<T>()[i];
      const double count = static_cast<double>(size.rows);
      a[i] = static_cast<T>(factor);
      b[i] = training ? static_cast<T>(-factor * r * r * dot[i] / count) : T(0);
      c[i] = training ? static_cast<T>(-factor * sum[i] / count) : T(0);
    }
    const Tensor out =
        empty_strided(x.sizes(), strides_of(x.sizes()), x.dtype());
    blend_columns(size, {x.data<T>(), g.data<T>(), s.mean.data<T>(), a.data(),
                         b.data(), c.data(), out.data<T>()});
    results[0] = to(out, grad.dtype());
  }

  template <typename T>
  void parameter_gradients(const std::vector<double>& sum,
                           std::vector<double> dot, const T* r,
                           std::span<Tensor> results) {
    const Dims sizes{static_cast<std::int64_t>(sum.size())};
    for (std::size_t i = 0; i < dot.size(); ++i) dot[i] *= r[i];
    if (wants(1)) results[1] = to(from_vector(dot, sizes), dtypes[0]);
    if (wants(2)) results[2] = to(from_vector(sum, sizes), dtypes[1]);
  }

  // The same by operations that are recorded.
  void apply_recorded(const Statistics& s, const Tensor& grad,
                      std::span<Tensor> results) {
    const Tensor x = to(input.unpack(*this), s.mean.dtype());
    const Tensor g = to(grad, s.mean.dtype());
    const Dims over = all_but_channels(x);
    Tensor center = along_channels(s.mean, x);
    Tensor r = along_channels(s.rstd, x);
    if (training) {
      center = hvd::mean(x, over, true);
      const Tensor off = x - center;
      r = pow(hvd::mean(off * off, over, true) + eps, -0.5);
    }
    const Tensor z = (x - center) * r;
    if (wants(1)) results[1] = to(sum(g * z, over), dtypes[0]);
    if (wants(2)) results[2] = to(sum(g, over), dtypes[1]);
    if (!wants(0)) return;
    const Tensor w = weight.unpack(*this);
    const Tensor scale =
        w.defined() ? r * along_channels(to(w, s.mean.dtype()), x) : r;
    if (training) {
      results[0] = to(scale * (g - hvd::mean(g, over, true) -
                               z * hvd::mean(g * z, over, true)),
                      grad.dtype());
    } else {
      results[0] = to(scale * g, grad.dtype());
    }
  }

  static Dims all_but_channels(const Tensor& x) {
    Dims dims{0};
    for (std::int64_t d = 2; d < x.dim(); ++d) dims.push_back(d);
    return dims;
  }

  void release_saved() override {
    input.release();
    weight.release();
    mean.release();
    rstd.release();
  }

  SavedTensor input;
  SavedTensor weight;
  SavedTensor mean;
  SavedTensor rstd;
  DType dtypes[2] = {DType::kF32, DType::kF32};  // Of weight and bias.
  double eps = 0.0;
  bool training = false;
};

void check_batch_norm(const Tensor& x, const std::vector<Tensor>& parameters) {
  check_defined(x, "batch_norm");
  if (!is_floating_point(x.dtype())) {
    throw_bad_dtype(x.dtype(), "batch_norm", "floating point");
  }
  if (x.dim() < 2) {
    throw InvalidArgument(absl::StrCat("batch_norm: ", x.describe(),
                                       " is not [n, channels, ...]"));
  }
  const bool wide = size_of(x.dtype()) >= size_of(DType::kF32);
  for (const Tensor& p : parameters) {
    if (!p.defined()) continue;
    const bool same =
        p.dtype() == x.dtype() || (!wide && p.dtype() == DType::kF32);
    if (same && p.sizes() == Dims({x.size(1)})) continue;
    throw InvalidArgument(absl::StrCat(
        "batch_norm: ", p.describe(), " does not go with input ", x.describe(),
        "; wanted is one element for each channel, in its dtype",
        wide ? "" : " or in float32"));
  }
}

// running = (1 - momentum) running + momentum found
void update(const Tensor& running, const std::vector<double>& found,
            double momentum) {
  const Tensor before = to(running.detach(), DType::kF64);
  std::vector<double> after = before.to_vector<double>();
  for (std::size_t i = 0; i < after.size(); ++i) {
    after[i] += momentum * (found[i] - after[i]);
  }
  running.copy_(to(from_vector(after, running.sizes()), running.dtype()));
}

struct Running {
  const Tensor& mean;
  const Tensor& variance;
};

Statistics statistics_while_training(const Tensor& x, const Running& running,
                                     const BatchNormOptions& options) {
  const MatrixSize size = matrix_size(x);
  if (size.rows <= 1) {
    throw InvalidArgument(absl::StrCat(
        "batch_norm: Expected more than 1 value per channel when training, but "
        "the input is ",
        x.describe()));
  }
  const Tensor matrix = as_matrix(x);
  std::vector<double> mean(static_cast<std::size_t>(size.columns));
  std::vector<double> variance = mean;
  visit_floating(x.dtype(), "batch_norm", [&]<typename T>(TypeTag<T>) {
    column_moments(size, matrix.data<T>(), mean.data(), variance.data());
  });
  Statistics result = statistics_of(mean, variance, x.dtype(), options.eps);
  if (is_recomputing()) return result;
  if (running.mean.defined()) update(running.mean, mean, options.momentum);
  if (running.variance.defined()) {
    const auto rows = static_cast<double>(size.rows);
    for (double& v : variance) v *= rows / (rows - 1);
    update(running.variance, variance, options.momentum);
  }
  return result;
}

Statistics running_statistics(const Running& running, DType dtype, double eps) {
  if (!running.mean.defined() || !running.variance.defined()) {
    throw InvalidArgument(
        "batch_norm: without running_mean and running_var it must be training");
  }
  return statistics_of(
      to(running.mean.detach(), DType::kF64).to_vector<double>(),
      to(running.variance.detach(), DType::kF64).to_vector<double>(), dtype,
      eps);
}

}  // namespace
}  // namespace autograd

Tensor batch_norm(const Tensor& x, const Tensor& running_mean,
                  const Tensor& running_var, const Tensor& weight,
                  const Tensor& bias, const BatchNormOptions& options) {
  autograd::check_batch_norm(x, {running_mean, running_var, weight, bias});
  autograd::Statistics statistics;
  Tensor out;
  {
    NoGrad no_grad;
    // Laid out once for both passes.
    const Tensor wide = autograd::as_matrix(autograd::widened(x.detach()));
    const autograd::Running running{running_mean, running_var};
    statistics =
        options.training
            ? autograd::statistics_while_training(wide, running, options)
            : autograd::running_statistics(running, wide.dtype(), options.eps);
    out = to(autograd::normalized(wide, statistics, weight, bias), x.dtype());
  }
  const bool recorded = autograd::needs_grad(x) ||
                        (weight.defined() && autograd::needs_grad(weight)) ||
                        (bias.defined() && autograd::needs_grad(bias));
  if (recorded) {
    auto node = autograd::make_node<autograd::BatchNormBackward>(x);
    node->add_edge(weight.defined() ? autograd::gradient_edge(weight)
                                    : autograd::Edge());
    node->add_edge(bias.defined() ? autograd::gradient_edge(bias)
                                  : autograd::Edge());
    node->input.save(x);
    if (weight.defined()) {
      node->weight.save(weight);
      node->dtypes[0] = weight.dtype();
    }
    if (bias.defined()) node->dtypes[1] = bias.dtype();
    node->mean.save(statistics.mean);
    node->rstd.save(statistics.rstd);
    node->eps = options.eps;
    node->training = options.training;
    autograd::set_history(out, std::move(node));
  }
  return out;
}

}  // namespace hvd
