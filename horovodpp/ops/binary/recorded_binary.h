// SPDX-License-Identifier: Apache-2.0
// Records an operation on two tensors whose description (binary_loop.h) also has
// its derivatives:
//
//   struct Hypot : formulas::Hypot {
//     static constexpr PairId kVector = PairId::kHypot;
//     static constexpr const char* kNode = "HypotBackward";
//     static constexpr unsigned kFirst = kA | kOut;   // The tensors that first()
//     static constexpr unsigned kSecond = kB | kOut;  // and second() need.
//     static Tensor first(const Tensor& dz, const Saved& x);
//     static Tensor second(const Tensor& dz, const Saved& x);
//   };
//   Tensor out = recorded_binary<Hypot>(a, b);
#pragma once

#include <span>

#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/ops/binary/binary_loop.h"
#include "horovodpp/tensor/elementwise.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::autograd {

// Tensors that a derivative needs.
enum Needs : unsigned { kNothing = 0, kA = 1, kB = 2, kOut = 4 };

struct Saved {
  Tensor a;
  Tensor b;
  Tensor out;
};

// A derivative, computed by one vector loop from dz and the two tensors that
// `needed` names. Undefined if the loop does not support them.
inline Tensor in_one_loop(FunctionLoop loop, unsigned needed, const Tensor& dz,
                          const Saved& saved) {
  const Tensor& x = (needed & kA) != 0 ? saved.a : saved.b;
  const Tensor& y = (needed & kOut) != 0 ? saved.out : saved.b;
  if (is_grad_enabled() || !in_floats(dz.dtype()) || x.dtype() != dz.dtype() ||
      y.dtype() != dz.dtype()) {
    return {};
  }
  Tensor out = empty_like(dz);
  run_function(loop, {}, out, {&dz, &x, &y});
  return out;
}

template <typename Op>
Tensor first_of(const Tensor& dz, const Saved& saved) {
  if constexpr (PairInVectors<Op> && Op::kFirst != kNothing) {
    Tensor da =
        in_one_loop(pair_first_loop(Op::kVector), Op::kFirst, dz, saved);
    if (da.defined()) return da;
  }
  return Op::first(dz, saved);
}
template <typename Op>
Tensor second_of(const Tensor& dz, const Saved& saved) {
  if constexpr (PairInVectors<Op> && Op::kSecond != kNothing) {
    Tensor db =
        in_one_loop(pair_second_loop(Op::kVector), Op::kSecond, dz, saved);
    if (db.defined()) return db;
  }
  return Op::second(dz, saved);
}

// z = f(a, b). Op has its derivatives as functions of the result's gradient and
// of the tensors that kFirst or kSecond name.
template <typename Op>
struct BinaryBackward final : Node {
  const char* name() const override { return Op::kNode; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const unsigned needed = needs();
    const auto unpacked = [&](SavedTensor& tensor, Needs which) {
      return (needed & which) != 0 ? tensor.unpack(*this) : Tensor();
    };
    const Saved saved = {unpacked(a, kA), unpacked(b, kB), unpacked(out, kOut)};
    if (wants(0)) results[0] = first_of<Op>(grads[0], saved);
    if (wants(1)) results[1] = second_of<Op>(grads[0], saved);
  }
  void release_saved() override {
    a.release();
    b.release();
    out.release();
  }
  unsigned needs() const {
    return (wants(0) ? Op::kFirst : 0U) | (wants(1) ? Op::kSecond : 0U);
  }
  SavedTensor a;
  SavedTensor b;
  SavedTensor out;
};

template <typename Op>
Tensor recorded_binary(const Tensor& a, const Tensor& b) {
  Tensor out = binary<Op>(a, b);
  if (needs_grad(a, b)) {
    auto node = make_node<BinaryBackward<Op>>(a, b);
    const unsigned needed = node->needs();
    if ((needed & kA) != 0) node->a.save(a);
    if ((needed & kB) != 0) node->b.save(b);
    set_history(out, node);
    if ((needed & kOut) != 0) node->out.save_output(out);
  }
  return out;
}

// a = operation(a, b), where Op describes the operation.
template <typename Op>
const Tensor& write_result(const Tensor& a, const Tensor& b,
                           BinaryOperation operation) {
  check_defined(a, Op::kName.text());
  check_defined(b, Op::kName.text());
  return assign_result(a, b, operation, dtype_of<Op>(a, b), Op::kName.text());
}

}  // namespace hvd::autograd
