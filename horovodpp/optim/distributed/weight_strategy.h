// SPDX-License-Identifier: Apache-2.0
// A WeightStrategy is what ranks do about each other's weights when each makes steps
// of its own:
//
//   hvd::DecentralizedOptimizer optimizer(
//       std::move(sgd), hvd::optim::periodic_average({.every = 16}));
//
// docs/decentralized.md compares those there are. To write one, derive from it:
//
//   class Everything : public hvd::optim::WeightStrategy {
//     std::string name() const override { return "everything"; }
//     void exchange(const Weights& weights, std::int64_t step) override { … }
//     double traffic(int ranks) const override { … }
//   };
//
// A strategy belongs to one optimizer. Not thread-safe.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/state_dict.h"
#include "horovodpp/runtime/settings/process_set.h"

namespace HVD_EXPORT hvd {
class Runtime;
}

namespace HVD_EXPORT hvd {
namespace optim {

// Those of this rank, and the way to the others. Lives for the call.
struct Weights {
  const std::vector<nn::NamedTensor>& parameters;
  Runtime& job;
  std::string name;  // Before the names of collectives.
  ProcessSet process_set;
};

class WeightStrategy {
 public:
  virtual ~WeightStrategy() = default;
  virtual std::string name() const = 0;

  // Once, before the first step; ranks have the same weights.
  virtual void begin(const Weights& weights);
  // After this rank's own step, the first of which is 1. All ranks call it equally
  // often.
  //   hvd::Error  a collective failed, as where a rank has died: the weights are what
  //               they were
  virtual void exchange(const Weights& weights, std::int64_t step) = 0;

  // Bytes that reach a rank in a step, on average, for each of the weights. Of
  // gradients that are averaged: 2 (n - 1) / n.
  virtual double traffic(int ranks) const = 0;

  // What it remembers, and back.
  virtual nn::StateDict state() const;
  //   InvalidArgument  it is not what this strategy remembers of such parameters
  virtual void load_state(const nn::StateDict& state);
};

// After each step, every rank takes the mean of its weights and those of the ranks
// before and after it, in a ring (Lian et al., "Can decentralized algorithms outperform
// centralized algorithms?", 2017). The mean of all ranks' weights stays what it is, and
// the ranks come closer to it; two or three have it at once.
std::unique_ptr<WeightStrategy> ring_average();

struct PeriodicAverageOptions {
  std::int64_t every = 16;  // Steps of a rank's own between two exchanges.
  // What is made of the mean of the ranks' changes since the last exchange: SGD, with
  // Nesterov's momentum, moves all of them from there. As they are, the weights are
  // the mean of the ranks' (local SGD: Stich, 2019); DiLoCo has rate 0.7, momentum 0.9
  // (Douillard et al., 2023).
  double outer_rate = 1.0;
  double outer_momentum = 0.0;
};

// Ranks that have joined are no part of a mean. What it remembers, and the weights
// after an exchange, are the same on all ranks, to the last bit.
//   InvalidArgument  it is every less than 1 steps; the rate is not above 0, or the
//                    momentum not in [0, 1)
std::unique_ptr<WeightStrategy> periodic_average(
    const PeriodicAverageOptions& options = {});

}  // namespace optim
}  // namespace hvd
