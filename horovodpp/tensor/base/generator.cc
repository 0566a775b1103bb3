// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/base/generator.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "horovodpp/tensor/base/thread_state.h"

namespace hvd::autograd {

constinit thread_local ThreadState thread_state{};

}  // namespace hvd::autograd

namespace hvd {
namespace autograd {
namespace {

std::uint64_t wide(std::uint32_t high, std::uint32_t low) {
  return (std::uint64_t{high} << 32) | low;
}

// Uses the top 24 or 53 bits, the width of the significand.
float to_uniform(std::uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1p-24f;
}
double to_uniform(std::uint64_t words) {
  return static_cast<double>(words >> 11) * 0x1p-53;
}

// Box-Muller: turns two uniform numbers into two normal ones. 1-u lies in
// (0,1], where the logarithm is finite.
template <typename T>
std::array<T, 2> to_normal(T u, T v) {
  const T radius = std::sqrt(T(-2) * std::log(T(1) - u));
  const T angle = T(2) * std::numbers::pi_v<T> * v;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

std::array<float, 4> uniforms(const std::array<std::uint32_t, 4>& w, float) {
  return {to_uniform(w[0]), to_uniform(w[1]), to_uniform(w[2]),
          to_uniform(w[3])};
}
std::array<double, 2> uniforms(const std::array<std::uint32_t, 4>& w, double) {
  return {to_uniform(wide(w[0], w[1])), to_uniform(wide(w[2], w[3]))};
}

std::array<float, 4> normals(const std::array<std::uint32_t, 4>& w, float) {
  const auto u = uniforms(w, 0.0f);
  const auto a = to_normal(u[0], u[1]);
  const auto b = to_normal(u[2], u[3]);
  return {a[0], a[1], b[0], b[1]};
}
std::array<double, 2> normals(const std::array<std::uint32_t, 4>& w, double) {
  const auto u = uniforms(w, 0.0);
  return to_normal(u[0], u[1]);
}

// Fills `out` from consecutive blocks; returns the number of blocks used.
template <typename T, typename Draw>
std::uint64_t fill_from_blocks(std::span<T> out, Draw draw) {
  std::uint64_t blocks = 0;
  for (std::size_t i = 0; i < out.size(); ++blocks) {
    const auto values = draw(blocks);
    const std::size_t count = std::min(values.size(), out.size() - i);
    std::copy_n(values.begin(), count, out.data() + i);
    i += count;
  }
  return blocks;
}

}  // namespace

std::array<std::uint32_t, 4> Generator::block(std::uint64_t index) const {
  const std::uint64_t at = state_.offset + index;
  return philox({static_cast<std::uint32_t>(at),
                 static_cast<std::uint32_t>(at >> 32), 0, 0},
                {static_cast<std::uint32_t>(state_.seed),
                 static_cast<std::uint32_t>(state_.seed >> 32)});
}

Generator Generator::fork() {
  const auto words = block(0);
  ++state_.offset;
  return Generator(wide(words[0], words[1]));
}

void Generator::uniform(std::span<float> out) {
  state_.offset +=
      fill_from_blocks(out, [&](auto i) { return uniforms(block(i), 0.0f); });
}
void Generator::uniform(std::span<double> out) {
  state_.offset +=
      fill_from_blocks(out, [&](auto i) { return uniforms(block(i), 0.0); });
}
void Generator::normal(std::span<float> out) {
  state_.offset +=
      fill_from_blocks(out, [&](auto i) { return normals(block(i), 0.0f); });
}
void Generator::normal(std::span<double> out) {
  state_.offset +=
      fill_from_blocks(out, [&](auto i) { return normals(block(i), 0.0); });
}

void Generator::bernoulli(double probability, std::span<bool> out) {
  state_.offset += fill_from_blocks(out, [&](auto i) {
    const auto u = uniforms(block(i), 0.0);
    return std::array<bool, 2>{u[0] < probability, u[1] < probability};
  });
}

// Sorts by random keys.
void Generator::permutation(std::span<std::int64_t> out) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> keys(out.size());
  std::vector<std::uint64_t> words(out.size());
  state_.offset += fill_from_blocks(std::span(words), [&](auto i) {
    const auto w = block(i);
    return std::array<std::uint64_t, 2>{wide(w[0], w[1]), wide(w[2], w[3])};
  });
  for (std::size_t i = 0; i < out.size(); ++i) {
    keys[i] = {words[i], static_cast<std::int64_t>(i)};
  }
  std::sort(keys.begin(), keys.end());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = keys[i].second;
}

Generator& default_generator() {
  if (thread_state.generator != nullptr) return *thread_state.generator;
  thread_local Generator generator;
  return generator;
}

}  // namespace autograd

void manual_seed(std::uint64_t seed) {
  autograd::default_generator().seed(seed);
}

}  // namespace hvd
