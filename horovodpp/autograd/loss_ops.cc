#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/autocast.h"
#include "horovodpp/autograd/factories.h"
#include "horovodpp/autograd/kernels.h"
#include "horovodpp/autograd/ops.h"
#include "horovodpp/autograd/record.h"

namespace hvd {
namespace autograd {
namespace {

// Calls `row(out, in0, in1, n)` for each row of the last dimension.
template <typename T, typename Row>
void for_each_row(const Tensor& out, const Tensor& in0, const Tensor& in1,
                  Row row) {
  const std::int64_t n = out.size(-1);
  const std::int64_t rows = n == 0 ? 0 : out.num_elements() / n;
  for (std::int64_t i = 0; i < rows; ++i) {
    row(out.data<T>() + i * n, in0.data<T>() + i * n, in1.data<T>() + i * n, n);
  }
}

// y = x - ln sum e^x:  dx = dy - e^y sum dy, sums over the last dimension
struct LogSoftmaxBackward : Node {
  const char* name() const override { return "LogSoftmaxBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor y = result.unpack(*this);
    if (is_grad_enabled()) {
      results[0] = grads[0] - exp(y) * sum(grads[0], {-1}, true);
      return;
    }
    const Tensor grad = widened(grads[0]).contiguous();
    const Tensor wide = widened(y);
    Tensor out = empty_like(wide);
    visit_floating(wide.dtype(), "log_softmax", [&]<typename T>(TypeTag<T>) {
      for_each_row<T>(out, grad, wide,
                      [](T* o, const T* g, const T* v, auto n) {
                        T total = 0;
                        for (std::int64_t i = 0; i < n; ++i) total += g[i];
                        for (std::int64_t i = 0; i < n; ++i) {
                          o[i] = g[i] - std::exp(v[i]) * total;
                        }
                      });
    });
    results[0] = to(out, y.dtype());
  }
  void release_saved() override { result.release(); }
  SavedTensor result;
};

Tensor nll_loss_backward(const Tensor& grad, const Tensor& targets,
                         const Dims& sizes);

// dx = nll_loss_backward(dy), linear in dy:  ddy = nll_loss(ddx)
struct NllLossBackwardBackward : Node {
  const char* name() const override { return "NllLossBackwardBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = nll_loss(grads[0], targets.unpack(*this));
  }
  void release_saved() override { targets.release(); }
  SavedTensor targets;
};

// y = -1/n sum_i x[i, targets[i]]:  dx[i, targets[i]] = -dy / n, else 0
struct NllLossBackward : Node {
  const char* name() const override { return "NllLossBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = nll_loss_backward(grads[0], targets.unpack(*this), sizes);
  }
  void release_saved() override { targets.release(); }
  SavedTensor targets;
  Dims sizes;
};

Tensor nll_loss_backward(const Tensor& grad, const Tensor& targets,
                         const Dims& sizes) {
  const Tensor wide = widened(grad);
  Tensor out = zeros(sizes, {.dtype = wide.dtype()});
  const auto classes = targets.to_vector<std::int64_t>();
  visit_floating(wide.dtype(), "nll_loss", [&]<typename T>(TypeTag<T>) {
    T* row = out.data<T>();
    const T value = -wide.item<T>() / static_cast<T>(sizes[0]);
    for (std::int64_t target : classes) {
      row[target] = value;
      row += sizes[1];
    }
  });
  {
    NoGrad no_grad;
    out = to(out, grad.dtype());
  }
  if (needs_grad(grad)) {
    auto node = make_node<NllLossBackwardBackward>(grad);
    node->targets.save(targets);
    set_history(out, std::move(node));
  }
  return out;
}

void check_nll(const Tensor& x, const Tensor& targets) {
  check_defined(x, "nll_loss");
  check_defined(targets, "nll_loss");
  if (x.dim() != 2 || targets.dim() != 1 || x.size(0) != targets.size(0) ||
      targets.dtype() != DType::kI64) {
    throw InvalidArgument(absl::StrCat(
        "nll_loss: log-probabilities ", x.describe(), " and targets ",
        targets.describe(),
        " do not go together; wanted are [n, classes] and int64[n]"));
  }
}

}  // namespace
}  // namespace autograd

Tensor log_softmax(const Tensor& input) {
  const Tensor x = autograd::autocast_wider(input);
  autograd::check_defined(x, "log_softmax");
  if (x.dim() == 0) {
    throw InvalidArgument("log_softmax: a scalar has no last dimension");
  }
  const Tensor in = autograd::widened(x.detach()).contiguous();
  Tensor out = empty_like(in);
  autograd::visit_floating(
      in.dtype(), "log_softmax", [&]<typename T>(TypeTag<T>) {
        autograd::for_each_row<T>(
            out, in, in, [](T* o, const T* v, const T*, auto n) {
              const T largest = *std::max_element(v, v + n);
              T total = 0;
              for (std::int64_t i = 0; i < n; ++i) {
                total += std::exp(v[i] - largest);
              }
              const T shift = largest + std::log(total);
              for (std::int64_t i = 0; i < n; ++i) o[i] = v[i] - shift;
            });
      });
  out = to(out, x.dtype());
  if (autograd::needs_grad(x)) {
    auto node = autograd::make_node<autograd::LogSoftmaxBackward>(x);
    autograd::set_history(out, node);
    node->result.save_output(out);
  }
  return out;
}

Tensor nll_loss(const Tensor& input, const Tensor& targets) {
  const Tensor x = autograd::autocast_wider(input);
  autograd::check_nll(x, targets);
  const Tensor in = autograd::widened(x.detach());
  const auto classes = targets.to_vector<std::int64_t>();
  Tensor out = empty({}, {.dtype = in.dtype()});
  autograd::visit_floating(in.dtype(), "nll_loss", [&]<typename T>(TypeTag<T>) {
    double total = 0;
    const T* row = in.data<T>();
    for (std::size_t i = 0; i < classes.size(); ++i) {
      const std::int64_t target = classes[i];
      if (target < 0 || target >= x.size(1)) {
        throw InvalidArgument(absl::StrCat("nll_loss: target ", i, " is ",
                                           target, ", but there are ",
                                           x.size(1), " classes"));
      }
      total -= static_cast<double>(row[target * in.strides()[1]]);
      row += in.strides()[0];
    }
    *out.data<T>() = static_cast<T>(total / static_cast<double>(x.size(0)));
  });
  out = to(out, x.dtype());
  if (autograd::needs_grad(x)) {
    auto node = autograd::make_node<autograd::NllLossBackward>(x);
    node->targets.save(targets);
    node->sizes = x.sizes();
    autograd::set_history(out, std::move(node));
  }
  return out;
}

Tensor cross_entropy(const Tensor& logits, const Tensor& targets) {
  return nll_loss(log_softmax(logits), targets);
}

}  // namespace hvd
