// SPDX-License-Identifier: Apache-2.0
// A WeightStrategy exchanges weights between ranks when each rank makes its own
// steps:
//
//   hvd::DecentralizedOptimizer optimizer(
//       std::move(sgd), hvd::optim::periodic_average({.every = 16}));
//
// docs/decentralized.md compares the strategies. To write one, derive from it:
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

// The weights of this rank, and access to the other ranks. Lives for the call.
struct Weights {
  const std::vector<nn::NamedTensor>& parameters;
  Runtime& job;
  std::string name;  // Prefix of the names of collectives.
  ProcessSet process_set;
};

class WeightStrategy {
 public:
  virtual ~WeightStrategy() = default;
  virtual std::string name() const = 0;

  // Called once, before the first step; all ranks have the same weights.
  virtual void begin(const Weights& weights);
  // Called after each step of this rank; the first step is 1. All ranks call it
  // equally often.
  //   hvd::Error  a collective failed, for example because a rank has died; the
  //               weights are unchanged
  virtual void exchange(const Weights& weights, std::int64_t step) = 0;

  // Mean number of bytes that reach a rank in a step, for each weight. For
  // averaged gradients: 2 (n - 1) / n.
  virtual double traffic(int ranks) const = 0;

  // Saves and loads the strategy's state.
  virtual nn::StateDict state() const;
  //   InvalidArgument  it is not this strategy's state for such parameters
  virtual void load_state(const nn::StateDict& state);
};

// After each step, every rank averages its weights with the weights of its two
// neighbors in a ring. (Lian et al., "Can decentralized algorithms outperform
// centralized algorithms?", 2017.) The mean of all ranks' weights is unchanged,
// and the ranks approach it; two or three ranks reach it at once.
std::unique_ptr<WeightStrategy> ring_average();

struct PeriodicAverageOptions {
  std::int64_t every = 16;  // Steps of a rank between two exchanges.
  // The mean of the ranks' changes since the last exchange is a gradient for
  // SGD with Nesterov momentum, which moves all ranks from there. With the
  // defaults, the weights are the mean of the ranks' weights (local SGD: Stich,
  // 2019). DiLoCo has rate 0.7, momentum 0.9 (Douillard et al., 2023).
  double outer_rate = 1.0;
  double outer_momentum = 0.0;
};

// Ranks that have joined are not part of a mean. The strategy's state, and the
// weights after an exchange, are the same on all ranks, to the last bit.
//   InvalidArgument  every is less than 1; the rate is not above 0, or the
//                    momentum not in [0, 1)
std::unique_ptr<WeightStrategy> periodic_average(
    const PeriodicAverageOptions& options = {});

}  // namespace optim
}  // namespace hvd
