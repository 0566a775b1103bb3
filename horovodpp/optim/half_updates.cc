// SPDX-License-Identifier: Apache-2.0
// Updates of 16-bit types: converted to float and back in blocks that stay in
// the cache, where the loops for float do the work.
#include <algorithm>
#include <array>
#include <cstddef>

#include "horovodpp/kernel/halves.h"
#include "horovodpp/optim/vector_updates.h"

namespace hvd::optim {
namespace {

constexpr std::int64_t kBlock = 512;

// A part of an array, in float.
template <typename T>
class Block {
 public:
  // `elements` may be null.
  Block(const T* elements, std::int64_t at, std::int64_t count)
      : present_(elements != nullptr), count_(static_cast<std::size_t>(count)) {
    if (!present_) return;
    autograd::widen(elements + at, floats_.data(), count_);
  }
  float* data() { return present_ ? floats_.data() : nullptr; }
  void store(T* elements, std::int64_t at) const {
    if (!present_) return;
    autograd::narrow(floats_.data(), elements + at, count_);
  }

 private:
  const bool present_;
  const std::size_t count_;
  std::array<float, kBlock> floats_;
};

template <typename T>
void update_halves(const SgdUpdate<T>& u) {
  for (std::int64_t at = 0; at < u.count; at += kBlock) {
    const std::int64_t n = std::min(kBlock, u.count - at);
    Block<T> p(u.parameter, at, n), g(u.gradient, at, n), b(u.momentum, at, n);
    update(SgdUpdate<float>{.parameter = p.data(),
                            .gradient = g.data(),
                            .momentum = b.data(),
                            .count = n,
                            .rate = u.rate,
                            .decay = u.decay,
                            .mu = u.mu,
                            .keep = u.keep,
                            .look_ahead = u.look_ahead,
                            .nesterov = u.nesterov,
                            .maximize = u.maximize});
    p.store(u.parameter, at);
    b.store(u.momentum, at);
  }
}

template <typename T>
void update_halves(const AdamUpdate<T>& u) {
  for (std::int64_t at = 0; at < u.count; at += kBlock) {
    const std::int64_t n = std::min(kBlock, u.count - at);
    Block<T> p(u.parameter, at, n), g(u.gradient, at, n), m(u.average, at, n),
        v(u.average_square, at, n), x(u.max_square, at, n);
    update(AdamUpdate<float>{.parameter = p.data(),
                             .gradient = g.data(),
                             .average = m.data(),
                             .average_square = v.data(),
                             .max_square = x.data(),
                             .count = n,
                             .shrink = u.shrink,
                             .decay = u.decay,
                             .beta1 = u.beta1,
                             .beta2 = u.beta2,
                             .step_size = u.step_size,
                             .root_correction = u.root_correction,
                             .eps = u.eps,
                             .maximize = u.maximize});
    p.store(u.parameter, at);
    m.store(u.average, at);
    v.store(u.average_square, at);
    x.store(u.max_square, at);
  }
}

template <typename T>
double squares_of_halves(const T* elements, std::int64_t count) {
  double total = 0.0;
  for (std::int64_t at = 0; at < count; at += kBlock) {
    const std::int64_t n = std::min(kBlock, count - at);
    total += sum_of_squares(Block<T>(elements, at, n).data(), n);
  }
  return total;
}

template <typename T>
void scale_halves(T* elements, std::int64_t count, double factor) {
  for (std::int64_t at = 0; at < count; at += kBlock) {
    const std::int64_t n = std::min(kBlock, count - at);
    Block<T> block(elements, at, n);
    scale(block.data(), n, factor);
    block.store(elements, at);
  }
}

}  // namespace

template <>
void update(const SgdUpdate<f16>& u) {
  update_halves(u);
}
template <>
void update(const SgdUpdate<bf16>& u) {
  update_halves(u);
}
template <>
void update(const AdamUpdate<f16>& u) {
  update_halves(u);
}
template <>
void update(const AdamUpdate<bf16>& u) {
  update_halves(u);
}
template <>
double sum_of_squares(const f16* elements, std::int64_t count) {
  return squares_of_halves(elements, count);
}
template <>
double sum_of_squares(const bf16* elements, std::int64_t count) {
  return squares_of_halves(elements, count);
}
template <>
void scale(f16* elements, std::int64_t count, double factor) {
  scale_halves(elements, count, factor);
}
template <>
void scale(bf16* elements, std::int64_t count, double factor) {
  scale_halves(elements, count, factor);
}

}  // namespace hvd::optim
