// SPDX-License-Identifier: Apache-2.0
// A region notices a write to an operand that its function captures, between forward
// and recomputation, whichever operation reads the operand.
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/reentrant_checkpoint.h"
#include "horovodpp/checkpoint.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::Dims;

// An operation on x [n, n] that reads a captured tensor.
struct OperandReader {
  const char* name;
  Dims shape;  // Of the captured tensor.
  Tensor (*run)(const Tensor& x, const Tensor& captured);
};

Tensor as_image(const Tensor& x) { return x.reshape({1, 1, 2, 2}); }

const OperandReader kReaders[] = {
    {"linear's weight",
     {2, 2},
     [](const Tensor& x, const Tensor& w) { return linear(x, w); }},
    {"linear's bias",
     {2},
     [](const Tensor& x, const Tensor& b) {
       return linear(x, ones64({2, 2}), b);
     }},
    {"linear's bias, without a batch",
     {2},
     [](const Tensor& x, const Tensor& b) {
       return linear(x.select(0, 0), ones64({2, 2}), b);
     }},
    {"addmm's summand",
     {2, 2},
     [](const Tensor& x, const Tensor& s) { return addmm(s, x, x); }},
    {"conv2d's weight",
     {1, 1, 2, 2},
     [](const Tensor& x, const Tensor& w) { return conv2d(as_image(x), w); }},
    {"conv2d's bias",
     {1},
     [](const Tensor& x, const Tensor& b) {
       return conv2d(as_image(x), ones64({1, 1, 2, 2}), b);
     }},
    {"layer_norm's weight",
     {2},
     [](const Tensor& x, const Tensor& w) { return layer_norm(x, {2}, w); }},
    {"layer_norm's bias",
     {2},
     [](const Tensor& x, const Tensor& b) {
       return layer_norm(x, {2}, {}, b);
     }},
    {"batch_norm's weight",
     {2},
     [](const Tensor& x, const Tensor& w) {
       return batch_norm(x, {}, {}, w, {}, {.training = true});
     }},
    {"batch_norm's bias",
     {2},
     [](const Tensor& x, const Tensor& b) {
       return batch_norm(x, {}, {}, {}, b, {.training = true});
     }},
    {"lstm's bias",
     {4},
     [](const Tensor& x, const Tensor& b) {
       const Tensor start = ones64({1, 1}), w = ones64({4, 1});
       return lstm(x.reshape({4, 1, 1}), {start, start}, {w, w, b, ones64({4})})
           .output;
     }},
    {"lstm's start",
     {1, 1},
     [](const Tensor& x, const Tensor& c) {
       const Tensor start = ones64({1, 1}), w = ones64({4, 1});
       return lstm(x.reshape({4, 1, 1}), {start, c}, {w, w}).output;
     }},
    {"attention's values",
     {2, 2},
     [](const Tensor& x, const Tensor& v) {
       return scaled_dot_product_attention(x, x, v);
     }},
    {"attention's mask",
     {2, 2},
     [](const Tensor& x, const Tensor& mask) {
       return scaled_dot_product_attention(x, x, x, {.mask = mask});
     }},
    {"a divisor",
     {2, 2},
     [](const Tensor& x, const Tensor& y) { return x / (y + 2.0); }},
    {"cat",
     {2, 2},
     [](const Tensor& x, const Tensor& y) {
       return cat({x, y}, 0);
     }},
    {"copy_",
     {2, 2},
     [](const Tensor& x, const Tensor& y) {
       Tensor copy = x.clone();
       return copy.select(0, 0).copy_(y.select(0, 0)), copy;
     }},
    {"mse_loss's target",
     {2, 2},
     [](const Tensor& x, const Tensor& y) { return mse_loss(x, y); }},
    {"soft targets",
     {2, 2},
     [](const Tensor& x, const Tensor& y) { return cross_entropy(x, y); }},
    {"weights of classes",
     {2},
     [](const Tensor& x, const Tensor& w) {
       return cross_entropy(
           x, zeros({2}, {.dtype = DType::kI64}),
           {.weight = w.detach(), .reduction = Reduction::kSum});
     }},
};

const OperandReader kReadersOfIndices[] = {
    {"gather",
     {1, 2},
     [](const Tensor& x, const Tensor& i) { return gather(x, 0, i); }},
    {"scatter_add",
     {1, 2},
     [](const Tensor& x, const Tensor& i) { return scatter_add(x, 0, i, x); }},
    {"embedding",
     {3},
     [](const Tensor& x, const Tensor& i) { return embedding(x, i); }},
    {"index_select",
     {3},
     [](const Tensor& x, const Tensor& i) { return index_select(x, 1, i); }},
    {"index",
     {3},
     [](const Tensor& x, const Tensor& i) { return x.index({i}); }},
    {"index by a mask",
     {2},
     [](const Tensor& x, const Tensor& i) { return x.index({eq(i, 0.0)}); }},
    {"index_put_",
     {1},
     [](const Tensor& x, const Tensor& i) {
       Tensor copy = x.clone();
       return copy.index_put_({i}, 3.0), copy;
     }},
    {"masked_fill",
     {2, 2},
     [](const Tensor& x, const Tensor& i) {
       return masked_fill(x, eq(i, 0.0), 3.0);
     }},
    {"where",
     {2, 2},
     [](const Tensor& x, const Tensor& i) { return where(eq(i, 0.0), x, -x); }},
    {"targets of nll_loss",
     {2},
     [](const Tensor& x, const Tensor& i) { return nll_loss(x, i); }},
    {"targets of cross_entropy",
     {2},
     [](const Tensor& x, const Tensor& i) { return cross_entropy(x, i); }},
    {"conversion",
     {2, 2},
     [](const Tensor& x, const Tensor& i) { return x * i.to(DType::kF64); }},
};

// Expects an error for a write to the captured operand. x, the captured tensor,
// both or neither require grad; sin() always saves its operand.
void expect_noticed(const OperandReader& reader, bool reentrant, bool of_x,
                    const Tensor& captured) {
  const Tensor x = leaf({0.5, 1.5, -0.5, 2.0}, {2, 2});
  const auto body = [&](const Tensor& in) {
    const Tensor operand = of_x ? in : in.detach();
    return sin(in.sum() * reader.run(operand, captured).sum());
  };
  const Tensor y = reentrant ? autograd::checkpoint_reentrant(
                                   [&](const std::vector<Tensor>& in) {
                                     return std::vector<Tensor>{body(in[0])};
                                   },
                                   {x})[0]
                             : checkpoint(body, x);
  {
    const NoGrad no_grad;
    captured.add_(1.0);
  }
  const testing::ScopedTrace trace(
      __FILE__, __LINE__,
      absl::StrCat(reader.name, reentrant ? ", reentrant" : "",
                   of_x ? ", of x" : "",
                   captured.requires_grad() ? ", with gradient" : ""));
  EXPECT_ERROR(autograd::CheckpointError,
               "was modified in place since forward read it", y.backward());
}

TEST(CapturedOperands, AreNoticedWhenTheyWereWritten) {
  for (const OperandReader& reader : kReaders) {
    for (const bool reentrant : {false, true}) {
      for (const bool of_x : {false, true}) {
        for (const bool of_captured : {false, true}) {
          expect_noticed(reader, reentrant, of_x,
                         ones64(reader.shape, of_captured));
        }
      }
    }
  }
}

TEST(CapturedOperands, OfIndicesAreNoticedWhenTheyWereWritten) {
  for (const OperandReader& reader : kReadersOfIndices) {
    for (const bool reentrant : {false, true}) {
      for (const bool of_x : {false, true}) {
        expect_noticed(reader, reentrant, of_x,
                       zeros(reader.shape, {.dtype = DType::kI64}));
      }
    }
  }
}

}  // namespace
}  // namespace hvd
