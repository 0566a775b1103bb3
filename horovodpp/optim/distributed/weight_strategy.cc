// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/distributed/weight_strategy.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/memory/buffer.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/future.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/replica/broadcast.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::optim {

void WeightStrategy::begin(const Weights&) {}
nn::StateDict WeightStrategy::state() const { return {}; }
void WeightStrategy::load_state(const nn::StateDict& state) {
  if (state.empty()) return;
  throw InvalidArgument(absl::StrCat("the strategy '", name(),
                                     "' remembers nothing, but its state has '",
                                     state.front().name, "'"));
}

namespace {

std::size_t bytes_of_all(const Weights& weights) {
  std::size_t bytes = 0;
  for (const auto& [name, tensor] : weights.parameters) bytes += tensor.bytes();
  return bytes;
}

class RingAverage : public WeightStrategy {
 public:
  std::string name() const override { return "ring_average"; }
  void exchange(const Weights& weights, std::int64_t step) override;
  double traffic(int ranks) const override { return ranks > 2 ? 2 : ranks - 1; }
};

// The ranks before and after `rank`, in ascending order; fewer if `size` is
// less than three.
std::vector<int> neighbours(int rank, int size) {
  if (size == 1) return {};
  if (size == 2) return {1 - rank};
  const int before = (rank + size - 1) % size;
  const int after = (rank + 1) % size;
  return before < after ? std::vector<int>{before, after}
                        : std::vector<int>{after, before};
}

void RingAverage::exchange(const Weights& weights, std::int64_t) {
  const int rank = value_or_throw(weights.job.rank_in(weights.process_set));
  const auto size = static_cast<int>(
      value_or_throw(weights.job.ranks_of(weights.process_set)).size());
  const std::vector<int> peers = neighbours(rank, size);
  const std::size_t bytes = bytes_of_all(weights);
  std::vector<std::byte> message(bytes * peers.size());
  std::byte* next = message.data();
  for (std::size_t p = 0; p < peers.size(); ++p) {
    for (const auto& [name, tensor] : weights.parameters) {
      const Tensor elements = tensor.detach().contiguous();
      if (elements.bytes() > 0) {
        std::memcpy(next, elements.raw_data(), elements.bytes());
      }
      next += elements.bytes();
    }
  }
  std::vector<std::int64_t> splits(static_cast<std::size_t>(size));
  for (const int peer : peers) {
    splits[static_cast<std::size_t>(peer)] = static_cast<std::int64_t>(bytes);
  }
  const AlltoallResult received = value_or_throw(
      weights.job
          .alltoall_async(
              ConstTensorView(
                  message.data(), DType::kU8,
                  Shape({static_cast<std::int64_t>(message.size())})),
              {.name = absl::StrCat(weights.name, ".ring"),
               .splits = splits,
               .process_set = weights.process_set})
          .take());
  if (static_cast<std::size_t>(received.tensor.num_elements()) !=
      message.size()) {
    throw Error(absl::InvalidArgumentError(absl::StrCat(
        "ring_average: the neighbours sent ", received.tensor.num_elements(),
        " bytes of weights, where this rank has ", bytes,
        " for each; the ranks' models differ")));
  }
  auto* const first = static_cast<std::byte*>(received.tensor.view().data());
  std::size_t offset = 0;
  for (const auto& [name, tensor] : weights.parameters) {
    // Added in rank order, so that ranks with the same three weights get the
    // same mean.
    Tensor sum;
    const auto add = [&sum](const Tensor& more) {
      sum = sum.defined() ? sum + more : more.clone();
    };
    bool has_own = false;
    for (std::size_t p = 0; p < peers.size(); ++p) {
      if (peers[p] > rank && !std::exchange(has_own, true))
        add(tensor.detach());
      add(from_blob(first + p * bytes + offset, tensor.shape(),
                    tensor.dtype()));
    }
    if (!has_own) add(tensor.detach());
    tensor.copy_(sum / static_cast<double>(peers.size() + 1));
    offset += tensor.bytes();
  }
}

class PeriodicAverage : public WeightStrategy {
 public:
  explicit PeriodicAverage(const PeriodicAverageOptions& options)
      : options_(options) {
    // Written so that NaN fails too.
    if (options.every < 1 || !(options.outer_rate > 0) ||
        !std::isfinite(options.outer_rate) || !(options.outer_momentum >= 0) ||
        !(options.outer_momentum < 1)) {
      throw InvalidArgument(absl::StrCat(
          "periodic_average: every ", options.every, ", outer_rate ",
          options.outer_rate, " and outer_momentum ", options.outer_momentum,
          " must be at least 1, above 0, and in [0, 1)"));
    }
  }
  std::string name() const override { return "periodic_average"; }
  void begin(const Weights& weights) override;
  void exchange(const Weights& weights, std::int64_t step) override;
  double traffic(int ranks) const override {
    return 2.0 * (ranks - 1) / ranks / static_cast<double>(options_.every);
  }
  nn::StateDict state() const override;
  void load_state(const nn::StateDict& state) override;

 private:
  struct Memory {
    std::string name;
    Tensor anchor;    // The weights after the last exchange.
    Tensor velocity;  // Undefined without momentum.
  };

  std::vector<Tensor> mean_deltas(const Weights& weights) const;

  const PeriodicAverageOptions options_;
  std::vector<Memory> memory_;  // By parameter.
};

void PeriodicAverage::begin(const Weights& weights) {
  for (const auto& [name, tensor] : weights.parameters) {
    memory_.push_back(
        {name, tensor.detach().clone(),
         options_.outer_momentum > 0 ? zeros_like(tensor) : Tensor()});
  }
}

// Ranks that have joined contribute zeros and are not counted.
std::vector<Tensor> PeriodicAverage::mean_deltas(const Weights& weights) const {
  std::vector<Tensor> deltas;
  std::vector<Future<void>> done;
  const auto sum = [&](const TensorView& view, const std::string& what) {
    done.push_back(weights.job.allreduce_async_(
        view, {.name = absl::StrCat(weights.name, ".", what),
               .op = ReduceOp::kSum,
               .process_set = weights.process_set}));
  };
  double count = 1.0;
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    const auto& [name, tensor] = weights.parameters[i];
    deltas.push_back((tensor.detach() - memory_[i].anchor).contiguous());
    sum(deltas.back().tensor_view(), name);
  }
  sum(TensorView::of(&count, {1}), "(ranks)");
  throw_if_error(annotate(replica::wait_for_all(done), "periodic_average"));
  for (Tensor& delta : deltas) delta = delta / count;
  return deltas;
}

void PeriodicAverage::exchange(const Weights& weights, std::int64_t step) {
  if (step % options_.every != 0) return;
  const std::vector<Tensor> deltas = mean_deltas(weights);
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    Memory& memory = memory_[i];
    Tensor change = deltas[i];
    if (memory.velocity.defined()) {
      memory.velocity.mul_(options_.outer_momentum).add_(change);
      change = change + memory.velocity * options_.outer_momentum;
    }
    memory.anchor.add_(change, options_.outer_rate);
    weights.parameters[i].tensor.copy_(memory.anchor);
  }
}

nn::StateDict PeriodicAverage::state() const {
  nn::StateDict result;
  for (const Memory& memory : memory_) {
    result.push_back({absl::StrCat(memory.name, ".anchor"), memory.anchor});
    if (memory.velocity.defined()) {
      result.push_back(
          {absl::StrCat(memory.name, ".velocity"), memory.velocity});
    }
  }
  return result;
}

void PeriodicAverage::load_state(const nn::StateDict& state) {
  std::map<std::string, Tensor> given;
  for (const auto& [name, tensor] : state) given[name] = tensor;
  const nn::StateDict own = this->state();
  for (const auto& [name, tensor] : own) {
    const auto found = given.find(name);
    if (found == given.end() || found->second.shape() != tensor.shape() ||
        found->second.dtype() != tensor.dtype()) {
      throw InvalidArgument(absl::StrCat(
          "periodic_average: its state lacks '", name, "', ", tensor.describe(),
          found == given.end() ? "" : ", which is of another shape or dtype"));
    }
  }
  if (given.size() != own.size()) {
    throw InvalidArgument(absl::StrCat("periodic_average: its state has ",
                                       given.size(), " tensors, and not ",
                                       own.size()));
  }
  for (const auto& [name, tensor] : own) tensor.copy_(given.at(name));
}

}  // namespace

std::unique_ptr<WeightStrategy> ring_average() {
  return std::make_unique<RingAverage>();
}

std::unique_ptr<WeightStrategy> periodic_average(
    const PeriodicAverageOptions& options) {
  return std::make_unique<PeriodicAverage>(options);
}

}  // namespace hvd::optim
