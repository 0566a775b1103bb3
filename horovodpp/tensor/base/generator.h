// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers: number i of a generator depends only on its
// seed and i. So replays are exact, and any number of threads draws the same
// numbers. The function is Philox4x32-10 (Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011).
//
//   hvd::manual_seed(42);
//   hvd::Tensor noise = hvd::randn({64, 784});
//
// Each thread has its own default generator, all with the same seed. A
// Generator is not thread-safe.
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

  // The complete state: saving and restoring it replays the generator.
  using State = RandomState;

  Generator() = default;
  explicit Generator(std::uint64_t seed) : state_{seed, 0} {}

  const State& state() const { return state_; }
  void set_state(const State& state) { state_ = state; }
  void seed(std::uint64_t seed) { state_ = {seed, 0}; }

  // A generator independent of this one; advances this one by one block.
  Generator fork();

  // Fills `out` with numbers uniform in [0,1), or normal with mean 0 and
  // variance 1.
  void uniform(std::span<float> out);
  void uniform(std::span<double> out);
  void normal(std::span<float> out);
  void normal(std::span<double> out);
  // Each true with `probability`.
  void bernoulli(double probability, std::span<bool> out);
  // 0 … out.size()-1 in random order, all orders equally likely.
  void permutation(std::span<std::int64_t> out);

 private:
  std::array<std::uint32_t, 4> block(std::uint64_t index) const;

  State state_;
};

// The generator for operations on this thread.
Generator& default_generator();

}  // namespace autograd

// Seeds the default generator of this thread.
void manual_seed(std::uint64_t seed);

}  // namespace hvd
