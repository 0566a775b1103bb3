// SPDX-License-Identifier: Apache-2.0
// The parameters of a wrapped optimizer, of which something is reduced in each
// step: their gradients, or their changes. Ranks match them by name.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <torch/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "horovodpp/c/horovodpp.h"
#include "horovodpp/core/export.h"
#include "horovodpp/libtorch/broadcast.h"
#include "horovodpp/libtorch/error.h"
#include "horovodpp/libtorch/gradient_hook.h"
#include "horovodpp/libtorch/reducer.h"
#include "horovodpp/libtorch/wrapped_optimizer.h"

namespace HVD_EXPORT hvd {
namespace libtorch {
namespace internal {

// One of them, with the hook on its gradient.
class ReducedParameter {
 public:
  ReducedParameter(std::string key, torch::Tensor parameter)
      : key_(std::move(key)), parameter_(std::move(parameter)) {}

  const std::string& key() const { return key_; }
  const torch::Tensor& parameter() const { return parameter_; }
  bool takes_part() const { return parameter_.requires_grad(); }

  bool is_watched() const { return hook_ != nullptr; }
  void watch(GradientCallbacks callbacks) {
    hook_ = std::make_unique<GradientHook>(parameter_, std::move(callbacks));
  }

 private:
  const std::string key_;
  const torch::Tensor parameter_;
  std::unique_ptr<GradientHook> hook_;
};

// A Kind is a ReducedParameter that also has is_sent(); expect(), called before
// a contribution; was_cleared(), whether its gradient was emptied since it was
// sent; and kIfSurplus and kIfCleared, advice for the errors that refuse one.
template <typename Kind>
class ReducedParameters {
 public:
  // `named` has all parameters that the optimizer has so far. Null, and for
  // parameters that are added later: named by group and place in it.
  ReducedParameters(WrappedOptimizer optimizer, const NamedTensors* named)
      : optimizer_(std::move(optimizer)) {
    if (named == nullptr) {
      number_others();
      return;
    }
    for (const auto& item : *named) {
      entries_.emplace(item.value().unsafeGetTensorImpl(), Entry{item.key()});
    }
    for (const torch::Tensor& parameter : optimizer_.parameters()) {
      if (name_of(parameter) != nullptr) continue;
      refuse(
          "named_parameters were given, but one or more parameters of the "
          "optimizer are not among them: pass model->named_parameters()");
    }
  }
  ReducedParameters(const ReducedParameters&) = delete;
  ReducedParameters& operator=(const ReducedParameters&) = delete;

  const WrappedOptimizer& optimizer() const { return optimizer_; }
  // Null: this rank has no peers, and nothing is reduced.
  Reducer* reducer() const { return reducer_.get(); }
  // The parameters that watch() has found.
  const std::vector<std::unique_ptr<Kind>>& all() const { return all_; }
  // Null: it has no name.
  const std::string* name_of(const torch::Tensor& parameter) const {
    const auto found = entries_.find(parameter.unsafeGetTensorImpl());
    return found == entries_.end() ? nullptr : &found->second.name;
  }

  // `contributed` is called after each contribution to a gradient.
  template <typename Options>
  void begin(const Options& options,
             const std::vector<std::vector<std::string>>& groups,
             std::function<void(Kind&)> contributed) {
    if (!has_peers(options.process_set)) {
      is_alone_ = size() == 1;
      return;
    }
    reducer_ = std::make_unique<Reducer>(in_words(options), groups);
    passes_ = options.backward_passes_per_step;
    contributed_ = std::move(contributed);
    watch();
  }

  // Watches parameters that were added or unfrozen. Call it if there is a
  // reducer.
  void watch() {
    number_others();
    for (const torch::Tensor& parameter : optimizer_.parameters()) {
      auto& [name, known] = entries_[parameter.unsafeGetTensorImpl()];
      if (known == nullptr) {
        all_.push_back(std::make_unique<Kind>(name, parameter));
        known = all_.back().get();
        reducer_->expect(name, passes_);
      }
      Kind* const one = known;
      if (!one->takes_part() || one->is_watched()) continue;
      one->watch({[one] {
                    refuse_surplus(*one);
                    one->expect();
                  },
                  [this, one] { contributed_(*one); }});
    }
  }

  // An optimizer without a reducer must not train alone in a later, larger job.
  //   Error (HVD_FAILED_PRECONDITION)  there is no job, or it has more ranks
  void check_job() const {
    if (!is_alone_ || size() == 1) return;
    throw Error(HVD_FAILED_PRECONDITION,
                "this optimizer was made in a job of one rank, and this job "
                "has " +
                    std::to_string(size()) +
                    ": make a new optimizer after hvd_reform() or a new "
                    "init(), and broadcast the parameters");
  }

  // From the next step on.
  void expect(int passes) {
    passes_ = passes;
    for (const auto& each : all_) reducer_->expect(each->key(), passes);
  }

  //   Error (HVD_FAILED_PRECONDITION)  one is in flight
  void zero_grad() {
    for (const auto& each : all_) {
      if (!each->is_sent()) continue;
      throw Error(
          HVD_FAILED_PRECONDITION,
          "optimizer.zero_grad() was called after loss.backward() but before "
          "optimizer.step(). This is prohibited, as the ranks are still "
          "reducing what backward has computed. If another model's loss "
          "reached these parameters, freeze them in its backward "
          "(hvd::libtorch::Frozen), or set during_backward = false.");
    }
    if (reducer_ != nullptr) reducer_->discard();
    optimizer_->zero_grad();
  }

 private:
  struct Entry {
    std::string name = {};
    Kind* known = nullptr;
  };

  static void refuse_surplus(const Kind& one) {
    if (!one.is_sent()) return;
    throw Error(
        HVD_FAILED_PRECONDITION,
        "Gradients of '" + one.key() +
            "' were computed more than backward_passes_per_step times before "
            "call to step(). " +
            (one.was_cleared()
                 ? std::string(
                       "The gradient was sent and then cleared, but not by "
                       "this optimizer: the loss of another model, as of a "
                       "GAN's generator, has reached the parameter. Freeze the "
                       "parameter in that backward (hvd::libtorch::Frozen)") +
                       Kind::kIfCleared
                 : std::string("Increase backward_passes_per_step to "
                               "accumulate gradients locally; if the backward "
                               "of another model's loss reached the "
                               "parameter, freeze the parameter there "
                               "(hvd::libtorch::Frozen)") +
                       Kind::kIfSurplus) +
            ".");
  }

  void number_others() {
    const auto& groups = optimizer_->param_groups();
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const std::vector<torch::Tensor>& members = groups[i].params();
      for (std::size_t j = 0; j < members.size(); ++j) {
        std::string& name = entries_[members[j].unsafeGetTensorImpl()].name;
        if (!name.empty()) continue;
        name = "noname." + std::to_string(i) + "." + std::to_string(j);
      }
    }
  }

  const WrappedOptimizer optimizer_;
  std::unordered_map<const void*, Entry> entries_;  // By tensor.
  std::vector<std::unique_ptr<Kind>> all_;
  std::function<void(Kind&)> contributed_;
  int passes_ = 1;
  bool is_alone_ = false;  // The job had one rank.
  // Its destructor waits for users of the memory of `all_`.
  std::unique_ptr<Reducer> reducer_;
};

}  // namespace internal
}  // namespace libtorch
}  // namespace hvd
