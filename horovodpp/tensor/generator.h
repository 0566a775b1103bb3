// SPDX-License-Identifier: Apache-2.0
// Random numbers as a function: number i of a generator depends on its seed and
// on i, and on nothing else, so that a replay is exact and any number of
// threads draws the same ones. The function is Philox4x32-10 (Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
//
//   hvd::manual_seed(42);
//   hvd::Tensor noise = hvd::randn({64, 784});
//
// Each thread has a default generator of its own, seeded alike. A Generator is
// not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "horovodpp/core/export.h"
#include "horovodpp/kernel/philox.h"

namespace HVD_EXPORT hvd {

namespace autograd {

class Generator {
 public:
  static constexpr std::uint64_t kDefaultSeed = RandomState::kDefaultSeed;

  // All there is to a generator: saving and restoring this replays it.
  using State = RandomState;

  Generator() = default;
  explicit Generator(std::uint64_t seed) : state_{seed, 0} {}

  const State& state() const { return state_; }
  void set_state(const State& state) { state_ = state; }
  void seed(std::uint64_t seed) { state_ = {seed, 0}; }

  // A generator independent of this one; advances this one by one block.
  Generator fork();

  // Fills `out` with uniform numbers in [0,1), or with normal ones of mean 0 and
  // variance 1.
  void uniform(std::span<float> out);
  void uniform(std::span<double> out);
  void normal(std::span<float> out);
  void normal(std::span<double> out);
  // Each true with `probability`.
  void bernoulli(double probability, std::span<bool> out);
  // The numbers below out.size() in random order, each order as likely.
  void permutation(std::span<std::int64_t> out);

 private:
  std::array<std::uint32_t, 4> block(std::uint64_t index) const;

  State state_;
};

// The generator that operations on this thread draw from.
Generator& default_generator();

}  // namespace autograd

// Seeds the default generator of this thread.
void manual_seed(std::uint64_t seed);

}  // namespace hvd
