// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/functional/lstm_steps.h"

#include "horovodpp/autograd/graph/graph_ops.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/kernel/loops/lstm_cell.h"
#include "horovodpp/kernel/products/blas.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/matmul_ops.h"
#include "horovodpp/ops/products.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {
namespace {

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
void run_forward(const LstmValues& in, const Tensor& bias,
                 const LstmForward& result) {
  const std::int64_t n = hidden_of(in);
  const std::int64_t rows = batch_of(in);
  const std::int64_t state = rows * n;
  Tensor w = in[kWhh];
  blas::Matrix<const T> w_hh = weight_matrix<T>(w);
  w_hh.transposed = !w_hh.transposed;
  const auto add_product = blas::multiply_by({.size = {rows, 4 * n, n},
                                              .a_stride = n,
                                              .c_stride = 4 * n,
                                              .times = steps_of(in),
                                              .adds = true},
                                             w_hh);
  const T* biases = bias.defined() ? bias.data<T>() : nullptr;
  const Tensor start = in[kH].contiguous();
  const T* before = start.data<T>();
  for (std::int64_t t = 0; t < steps_of(in); ++t) {
    T* gates = result.gates.data<T>() + t * 4 * state;
    T* h = result.output.data<T>() + t * state;
    T* cells = result.cells.data<T>() + t * state;
    add_product(before, gates);
    for (std::int64_t b = 0; b < rows; ++b) {
      T* c = cells + b * n;
      lstm_forward(LstmStep<T>{gates + b * 4 * n, biases, c, c + state,
                               h + b * n, static_cast<std::size_t>(n)});
    }
    before = h;
  }
}

// A matrix with rows padded by one cache line, since columns with a
// power-of-two stride map to few cache sets.
Tensor padded(std::int64_t rows, std::int64_t columns, DType dtype) {
  const std::int64_t stride = columns + 16;
  const Tensor room = empty({rows, stride}, {.dtype = dtype});
  return room.alias({rows, columns}, {stride, 1}, 0);
}

template <typename T>
void run_backward(const LstmValues& in, const LstmForward& saved,
                  const LstmValues& grads, const LstmGateGradients& result) {
  const std::int64_t n = hidden_of(in);
  const std::int64_t rows = batch_of(in);
  const std::int64_t state = rows * n;
  Tensor w = in[kWhh];
  const std::int64_t stride = result.gates.strides()[0];
  const auto multiply = blas::multiply_by({.size = {rows, n, 4 * n},
                                           .a_stride = stride,
                                           .c_stride = n,
                                           .times = steps_of(in)},
                                          weight_matrix<T>(w));
  T* dh = result.h.data<T>();
  T* dc = result.c.data<T>();
  for (std::int64_t t = steps_of(in); t-- > 0;) {
    const T* added =
        grads[0].defined() ? grads[0].data<T>() + t * state : nullptr;
    const T* gates = saved.gates.data<T>() + t * 4 * state;
    const T* cells = saved.cells.data<T>() + t * state;
    T* dgates = result.gates.data<T>() + t * rows * stride;
    for (std::int64_t b = 0; b < rows; ++b) {
      const std::int64_t at = b * n;
      lstm_backward(LstmStepBackward<T>{
          gates + 4 * at, cells + at, cells + state + at, dh + at,
          added == nullptr ? nullptr : added + at, dc + at, dgates + b * stride,
          static_cast<std::size_t>(n)});
    }
    multiply(dgates, dh);
  }
}

}  // namespace

LstmForward lstm_forward_steps(const LstmValues& in) {
  const std::int64_t steps = steps_of(in);
  const std::int64_t rows = batch_of(in);
  const std::int64_t n = hidden_of(in);
  const DType dtype = in[kX].dtype();
  Tensor bias;
  if (in[kBih].defined()) bias = add(in[kBih], in[kBhh]);
  LstmForward result;
  result.gates = linear(in[kX], in[kWih], Tensor()).contiguous();
  result.output = empty({steps, rows, n}, {.dtype = dtype});
  result.cells = empty({steps + 1, rows, n}, {.dtype = dtype});
  convert_into(result.cells.alias({rows, n}, {n, 1}, 0), in[kC]);
  if (result.output.num_elements() == 0) return result;
  visit_floating(dtype, "lstm", [&]<typename T>(TypeTag<T>) {
    run_forward<T>(in, bias, result);
  });
  return result;
}

LstmGateGradients lstm_backward_steps(const LstmValues& in,
                                      const LstmForward& saved,
                                      const LstmValues& grads) {
  const auto start = [&](const Tensor& grad) {
    return grad.defined() ? clone(grad) : zeros_like(in[kH]);
  };
  const LstmGateGradients result{
      padded(steps_of(in) * batch_of(in), 4 * hidden_of(in), in[kX].dtype()),
      start(grads[1]), start(grads[2])};
  LstmValues rows = grads;
  if (rows[0].defined()) rows[0] = rows[0].contiguous();
  if (saved.output.num_elements() == 0) return result;
  visit_floating(in[kX].dtype(), "lstm", [&]<typename T>(TypeTag<T>) {
    run_backward<T>(in, saved, rows, result);
  });
  return result;
}

// Computed as (inputs^T gates)^T, whose longer rows make it faster.
Tensor lstm_weight_gradient(const Tensor& gates,
                            const std::vector<Tensor>& inputs) {
  const std::int64_t columns = gates.size(1);
  const std::int64_t width = inputs.front().size(1);
  const Tensor result = padded(width, columns, gates.dtype());
  result.zero_();
  std::int64_t row = 0;
  visit_floating(gates.dtype(), "lstm", [&]<typename T>(TypeTag<T>) {
    for (const Tensor& input : inputs) {
      const Tensor x = input.contiguous();
      const std::int64_t stride = gates.strides()[0];
      const T* from = gates.data<T>() + row * stride;
      row += x.size(0);
      if (x.num_elements() == 0 || columns == 0) continue;
      blas::gemm_add({width, columns, x.size(0)},
                     blas::Matrix<const T>{x.data<T>(), width, true},
                     blas::Matrix<const T>{from, stride},
                     blas::Matrix<T>{result.data<T>(), result.strides()[0]});
    }
  });
  return result.t().contiguous();
}

}  // namespace hvd::autograd
