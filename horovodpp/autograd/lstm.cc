#include "horovodpp/autograd/lstm.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/autocast.h"
#include "horovodpp/autograd/composed.h"
#include "horovodpp/autograd/factories.h"
#include "horovodpp/autograd/kernels.h"
#include "horovodpp/autograd/lstm_cell.h"
#include "horovodpp/autograd/ops.h"
#include "horovodpp/autograd/products.h"
#include "horovodpp/autograd/record.h"

namespace hvd {
namespace autograd {
namespace {

// The inputs of a call, in the order of its edges. The biases may be undefined.
enum Input : std::size_t { kX, kH, kC, kWih, kWhh, kBih, kBhh, kInputs };
using Values = std::vector<Tensor>;

std::int64_t steps_of(const Values& in) { return in[kX].size(0); }
std::int64_t batch_of(const Values& in) { return in[kX].size(1); }
std::int64_t hidden_of(const Values& in) { return in[kH].size(1); }

// The same by simpler operations.
Values composed(const Values& in) {
  const std::int64_t n = hidden_of(in);
  Tensor h = in[kH];
  Tensor c = in[kC];
  Values all;
  for (std::int64_t t = 0; t < steps_of(in); ++t) {
    const Tensor gates = linear(select(in[kX], 0, t), in[kWih], in[kBih]) +
                         linear(h, in[kWhh], in[kBhh]);
    const auto gate = [&](std::int64_t k) {
      return narrow(gates, 1, k * n, n);
    };
    c = sigmoid(gate(1)) * c + sigmoid(gate(0)) * tanh(gate(2));
    h = sigmoid(gate(3)) * tanh(c);
    all.push_back(h);
  }
  return {stack(all), h, c};
}

struct Forward {
  Tensor output;  // [steps, batch, hidden]
  Tensor cells;   // [steps + 1, batch, hidden], the first those at the start.
  Tensor gates;   // [steps, batch, 4 hidden], as lstm_forward leaves them.
};

template <typename T>
blas::Matrix<const T> weight_matrix(Tensor& w) {
  if (!blas_layout(w.size(0), w.size(1), w.strides()[0], w.strides()[1])) {
    w = clone(w);
  }
  const auto layout =
      blas_layout(w.size(0), w.size(1), w.strides()[0], w.strides()[1]);
  return {w.data<T>(), layout->stride, layout->transposed};
}

template <typename T>
void run_forward(const Values& in, const Forward& result) {
  const std::int64_t n = hidden_of(in);
  const std::int64_t rows = batch_of(in);
  const std::int64_t state = rows * n;
  Tensor w = in[kWhh];
  blas::Matrix<const T> w_hh = weight_matrix<T>(w);
  w_hh.transposed = !w_hh.transposed;
  const auto add_product = blas::multiply_by({.size = {rows, 4 * n, n},
                                              .a_stride = n,
                                              .c_stride = 4 * n,
                                              .adds = true},
                                             w_hh);
  const Tensor start = in[kH].contiguous();
  const T* before = start.data<T>();
  for (std::int64_t t = 0; t < steps_of(in); ++t) {
    T* gates = result.gates.data<T>() + t * 4 * state;
    T* h = result.output.data<T>() + t * state;
    T* cells = result.cells.data<T>() + t * state;
    add_product(before, gates);
    for (std::int64_t b = 0; b < rows; ++b) {
      T* c = cells + b * n;
      lstm_forward(LstmStep<T>{gates + b * 4 * n, c, c + state, h + b * n,
                               static_cast<std::size_t>(n)});
    }
    before = h;
  }
}

Forward forward(const Values& in) {
  const std::int64_t steps = steps_of(in);
  const std::int64_t rows = batch_of(in);
  const std::int64_t n = hidden_of(in);
  const DType dtype = in[kX].dtype();
  Tensor bias;
  if (in[kBih].defined()) bias = add(in[kBih], in[kBhh]);
  Forward result;
  result.gates = linear(in[kX], in[kWih], bias).contiguous();
  result.output = empty({steps, rows, n}, {.dtype = dtype});
  result.cells = empty({steps + 1, rows, n}, {.dtype = dtype});
  convert_into(alias(result.cells, {rows, n}, {n, 1}, 0), in[kC]);
  if (result.output.num_elements() == 0) return result;
  visit_floating(dtype, "lstm",
                 [&]<typename T>(TypeTag<T>) { run_forward<T>(in, result); });
  return result;
}

// The gradients of the gates' sums, of the first h and of the first c.
struct GateGradients {
  Tensor gates;
  Tensor h;
  Tensor c;
};

// `grads` are those of output, h and c; each may be undefined.
template <typename T>
void run_backward(const Values& in, const Forward& saved, const Values& grads,
                  const GateGradients& result) {
  const std::int64_t n = hidden_of(in);
  const std::int64_t rows = batch_of(in);
  const std::int64_t state = rows * n;
  Tensor w = in[kWhh];
  const auto multiply = blas::multiply_by(
      {.size = {rows, n, 4 * n}, .a_stride = 4 * n, .c_stride = n},
      weight_matrix<T>(w));
  T* dh = result.h.data<T>();
  T* dc = result.c.data<T>();
  for (std::int64_t t = steps_of(in); t-- > 0;) {
    if (grads[0].defined()) {
      const T* added = grads[0].data<T>() + t * state;
      for (std::int64_t k = 0; k < state; ++k) dh[k] += added[k];
    }
    const T* gates = saved.gates.data<T>() + t * 4 * state;
    const T* cells = saved.cells.data<T>() + t * state;
    T* dgates = result.gates.data<T>() + t * 4 * state;
    for (std::int64_t b = 0; b < rows; ++b) {
      const std::int64_t at = b * n;
      lstm_backward(LstmStepBackward<T>{
          gates + 4 * at, cells + at, cells + state + at, dh + at, dc + at,
          dgates + 4 * at, static_cast<std::size_t>(n)});
    }
    multiply(dgates, dh);
  }
}

GateGradients backward(const Values& in, const Forward& saved,
                       const Values& grads) {
  const auto start = [&](const Tensor& grad) {
    return grad.defined() ? clone(grad) : zeros_like(in[kH]);
  };
  const GateGradients result{empty_like(saved.gates), start(grads[1]),
                             start(grads[2])};
  Values rows = grads;
  if (rows[0].defined()) rows[0] = rows[0].contiguous();
  if (saved.output.num_elements() == 0) return result;
  visit_floating(in[kX].dtype(), "lstm", [&]<typename T>(TypeTag<T>) {
    run_backward<T>(in, saved, rows, result);
  });
  return result;
}

Tensor as_rows(const Tensor& x) {
  return reshape(x, {x.size(0) * x.size(1), x.size(2)});
}

// The sum over steps of (gradient of the gates)^T (h before the step).
Tensor recurrent_weight_gradient(const Tensor& dgates, const Tensor& output,
                                 const Tensor& start) {
  const std::int64_t steps = output.size(0);
  const Tensor first = matmul(select(dgates, 0, 0).t(), start);
  if (steps == 1) return first;
  const Tensor later = as_rows(narrow(dgates, 0, 1, steps - 1));
  const Tensor before = as_rows(narrow(output, 0, 0, steps - 1));
  return add(first, matmul(later.t(), before));
}

struct LstmBackward : Node {
  const char* name() const override { return "LstmBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    Values in;
    for (SavedTensor& input : inputs) in.push_back(input.unpack(*this));
    const Values gradients(grads.begin(), grads.end());
    if (is_grad_enabled()) {
      std::vector<bool> wanted;
      for (std::size_t i = 0; i < kInputs; ++i) wanted.push_back(wants(i));
      const Values all = composed_backward(composed, in, wanted, gradients);
      std::copy(all.begin(), all.end(), results.begin());
      return;
    }
    fused(in, gradients, results);
  }
  void release_saved() override {
    for (SavedTensor& input : inputs) input.release();
    for (SavedTensor* saved : {&output, &cells, &gates}) saved->release();
  }

  void fused(Values in, Values grads, std::span<Tensor> results) {
    const DType dtype = in[kX].dtype();
    for (Tensor& value : in) {
      if (value.defined()) value = widened(value.detach());
    }
    for (Tensor& grad : grads) {
      if (grad.defined()) grad = widened(grad);
    }
    const Forward saved{output.unpack(*this), cells.unpack(*this),
                        gates.unpack(*this)};
    const GateGradients found = backward(in, saved, grads);
    const Tensor flat = as_rows(found.gates);
    if (wants(kX)) {
      results[kX] = reshape(matmul(flat, in[kWih]), in[kX].sizes());
    }
    if (wants(kH)) results[kH] = found.h;
    if (wants(kC)) results[kC] = found.c;
    if (wants(kWih)) results[kWih] = matmul(flat.t(), as_rows(in[kX]));
    if (wants(kWhh)) {
      results[kWhh] =
          recurrent_weight_gradient(found.gates, saved.output, in[kH]);
    }
    if (wants(kBih) || wants(kBhh)) {
      const Tensor bias = sum(flat, {0});
      if (wants(kBih)) results[kBih] = bias;
      if (wants(kBhh)) results[kBhh] = bias;
    }
    for (Tensor& result : results) {
      if (result.defined()) result = to(result, dtype);
    }
  }

  std::array<SavedTensor, kInputs> inputs;
  // In float32 at least.
  SavedTensor output, cells, gates;
};

void check_lstm(const Values& in) {
  for (std::size_t i = 0; i < kInputs; ++i) {
    if (i < kBih || in[i].defined()) check_same_dtype(in[kX], in[i], "lstm");
  }
  const bool ranks = in[kX].dim() == 3 && in[kH].dim() == 2;
  const std::int64_t n = ranks ? hidden_of(in) : 0;
  bool fits = ranks && steps_of(in) > 0 &&
              in[kH].sizes() == Dims({batch_of(in), n}) &&
              in[kC].sizes() == in[kH].sizes() &&
              in[kWih].sizes() == Dims({4 * n, in[kX].size(2)}) &&
              in[kWhh].sizes() == Dims({4 * n, n}) &&
              in[kBih].defined() == in[kBhh].defined();
  if (fits && in[kBih].defined()) {
    fits =
        in[kBih].sizes() == Dims({4 * n}) && in[kBhh].sizes() == Dims({4 * n});
  }
  if (fits) return;
  throw InvalidArgument(absl::StrCat(
      "lstm: x ", in[kX].describe(), ", h ", in[kH].describe(), ", c ",
      in[kC].describe(), ", w_ih ", in[kWih].describe(), " and w_hh ",
      in[kWhh].describe(),
      " do not go together, or with the biases; wanted are [steps, batch, in], "
      "[batch, hidden] twice, [4 hidden, in], [4 hidden, hidden], and [4 "
      "hidden] twice or not at all"));
}

Ref<LstmBackward> recorded(const Values& in) {
  auto node = Ref<LstmBackward>::adopt(new LstmBackward);
  for (std::size_t i = 0; i < kInputs; ++i) {
    node->add_edge(in[i].defined() ? gradient_edge(in[i]) : Edge());
    if (in[i].defined()) node->inputs[i].save(in[i]);
  }
  return node;
}

}  // namespace
}  // namespace autograd

LstmResult lstm(const Tensor& x, const LstmState& start,
                const LstmWeights& weights) {
  using namespace autograd;  // NOLINT(google-build-using-namespace)
  Values in = {
      x,           start.h, start.c, weights.w_ih, weights.w_hh, weights.b_ih,
      weights.b_hh};
  for (Tensor& value : in) value = autocast_lower(value);
  check_lstm(in);
  bool wanted = false;
  for (const Tensor& value : in) wanted |= value.defined() && needs_grad(value);
  Forward made;
  LstmResult result;
  const std::int64_t last = in[kX].size(0) - 1;
  {
    NoGrad no_grad;
    Autocast off(DType::kBF16, {.enabled = false});
    Values wide;
    for (const Tensor& value : in) {
      wide.push_back(value.defined() ? widened(value.detach()) : value);
    }
    made = forward(wide);
    const DType dtype = in[kX].dtype();
    result.output = to(made.output, dtype);
    result.h = to(clone(select(made.output, 0, last)), dtype);
    result.c = to(clone(select(made.cells, 0, last + 1)), dtype);
  }
  if (!wanted) return result;
  const Ref<LstmBackward> node = recorded(in);
  node->cells.save(made.cells);
  node->gates.save(made.gates);
  for (const Tensor* tensor : {&result.output, &result.h, &result.c}) {
    set_history(*tensor, node);
  }
  if (result.output.dtype() == made.output.dtype()) {
    node->output.save_output(result.output);
  } else {
    node->output.save(made.output);
  }
  return result;
}

}  // namespace hvd
