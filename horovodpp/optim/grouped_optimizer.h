// SPDX-License-Identifier: Apache-2.0
// Base classes of optimizers: parameters in groups with their own options, and
// state tensors of each parameter.
//
//   const std::vector<ParameterGroup<AdamWOptions>> groups = {
//       {.parameters = matrices, .options = {.weight_decay = 0.1}},
//       {.parameters = the_rest, .options = {.weight_decay = 0.0}}};
//   AdamW optimizer(groups);
//   optimizer.options(1);      // Of the second group.
//
// An Options type is an aggregate. Its check() throws InvalidArgument, visit(f)
// calls f(name, field) for each field, and slots() is the state of each
// parameter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/optim/optimizer.h"

namespace HVD_EXPORT hvd {
namespace optim {

template <typename Options>
struct ParameterGroup {
  std::vector<nn::NamedTensor> parameters;
  Options options = {};
};

// One state tensor of each parameter: an int64[] that counts, or a tensor of
// the parameter's dtype and shape.
struct StateSlot {
  std::string name;
  bool is_count = false;
  bool may_lack = false;  // May be absent while other slots exist.
};

// A part of the elements of a parameter, in memory order.
struct ElementRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t count() const { return end - begin; }
};

// Prefix of the names of state tensors, in the state of an optimizer.
inline constexpr char kStatePrefix[] = "state.";

class StatefulOptimizer : public Optimizer {
 public:
  void step() override;
  void step_of(std::size_t index) override;

  std::vector<nn::NamedTensor> state() const override;
  nn::StateDict state_dict() const override;
  void load_state_dict(const nn::StateDict& state,
                       const nn::LoadOptions& options = {}) override;

  // Whether keep_parts() is possible: move() uses part_of().
  virtual bool moves_parts() const { return false; }
  // From now on only these elements of each parameter are updated and have
  // state. state() shows the state of these elements, as one row.
  // load_state_dict() still takes the state of whole parameters. Parameters
  // have no gaps in memory. Empty: whole parameters. A later call drops the
  // state.
  void keep_parts(std::vector<ElementRange> parts);

  const std::vector<StateSlot>& slot_kinds() const { return slot_kinds_; }
  // The state tensor of kind slot_kinds()[kind] of a parameter, or of its part.
  const Tensor& slot(std::size_t parameter, std::size_t kind) const {
    return state_[parameter][kind];
  }

 protected:
  // The options of one group, by name; flags are 0 and 1.
  using OptionValues = std::vector<std::pair<std::string, double>>;
  using Slots = std::vector<Tensor>;  // Undefined: no state yet.

  StatefulOptimizer(std::vector<nn::NamedTensor> parameters,
                    std::vector<StateSlot> slots);

  // Updates one parameter along its gradient, if it has one. Records no graph.
  virtual void move(std::size_t index) = 0;

  virtual std::vector<OptionValues> option_values() const = 0;
  // Sets all values or, if one makes no sense (InvalidArgument), none.
  virtual void set_option_values(const std::vector<OptionValues>& values) = 0;

  Slots& slots(std::size_t parameter) { return state_[parameter]; }
  // Null: the whole parameter.
  const ElementRange* part_of(std::size_t parameter) const {
    return parts_.empty() || is_whole(parameter) ? nullptr : &parts_[parameter];
  }

 private:
  struct Loading;
  bool is_whole(std::size_t parameter) const {
    return parts_[parameter].count() ==
           parameters()[parameter].tensor.num_elements();
  }
  void load_slot(const std::string& key, const Tensor& tensor,
                 Loading& loading) const;
  void load_option(const std::string& key, const nn::NamedTensor& entry,
                   Loading& loading) const;
  void check_complete(const Loading& loading) const;
  Tensor kept(std::size_t parameter, const Tensor& whole) const;

  const std::vector<StateSlot> slot_kinds_;
  std::vector<Slots> state_;         // By parameter.
  std::vector<ElementRange> parts_;  // Likewise; empty: all are whole.
};

// Throws InvalidArgument unless the number of rates equals the number of
// groups.
void check_group_count(std::size_t rates, std::size_t groups);
// Throws InvalidArgument unless the group exists.
void check_group(std::size_t group, std::size_t groups);

// An optimizer with options by group; the optimizers inherit its constructors.
template <typename Options>
class GroupedOptimizer : public StatefulOptimizer {
 public:
  //   InvalidArgument  an option makes no sense; see also Optimizer
  explicit GroupedOptimizer(std::vector<ParameterGroup<Options>> groups)
      : StatefulOptimizer(all_of(groups), Options::slots()) {
    for (const auto& [parameters, options] : groups) {
      options.check();
      group_of_.insert(group_of_.end(), parameters.size(), options_.size());
      options_.push_back(options);
    }
  }
  explicit GroupedOptimizer(std::vector<nn::NamedTensor> parameters,
                            const Options& options = {})
      : GroupedOptimizer(std::vector<ParameterGroup<Options>>{
            {std::move(parameters), options}}) {}
  explicit GroupedOptimizer(const std::vector<Tensor>& parameters,
                            const Options& options = {})
      : GroupedOptimizer(numbered(parameters), options) {}

  std::size_t num_groups() const { return options_.size(); }
  //   InvalidArgument  there is no such group
  const Options& options(std::size_t group = 0) const {
    check_group(group, options_.size());
    return options_[group];
  }
  //   InvalidArgument  there is no such group, or no such options are possible
  void set_options(std::size_t group, const Options& options) {
    check_group(group, options_.size());
    options.check();
    options_[group] = options;
  }

  std::vector<double> learning_rates() const override {
    std::vector<double> result;
    for (const Options& options : options_) {
      result.push_back(options.learning_rate);
    }
    return result;
  }
  void set_learning_rates(const std::vector<double>& rates) override {
    check_group_count(rates.size(), options_.size());
    std::vector<Options> changed = options_;
    for (std::size_t g = 0; g < rates.size(); ++g) {
      changed[g].learning_rate = rates[g];
      changed[g].check();
    }
    options_ = std::move(changed);
  }

 protected:
  const Options& options_of(std::size_t parameter) const {
    return options_[group_of_[parameter]];
  }

  std::vector<OptionValues> option_values() const override {
    std::vector<OptionValues> result;
    for (Options options : options_) {
      OptionValues& values = result.emplace_back();
      options.visit([&](const char* name, auto& field) {
        values.emplace_back(name, static_cast<double>(field));
      });
    }
    return result;
  }
  void set_option_values(const std::vector<OptionValues>& values) override {
    std::vector<Options> changed = options_;
    for (std::size_t g = 0; g < changed.size(); ++g) {
      auto next = values[g].begin();
      changed[g].visit([&](const char*, auto& field) {
        set_field(field, (next++)->second);
      });
      changed[g].check();
    }
    options_ = std::move(changed);
  }

 private:
  static void set_field(double& field, double value) { field = value; }
  static void set_field(bool& field, double value) { field = value != 0.0; }
  static std::vector<nn::NamedTensor> all_of(
      const std::vector<ParameterGroup<Options>>& groups) {
    std::vector<nn::NamedTensor> result;
    for (const auto& group : groups) {
      result.insert(result.end(), group.parameters.begin(),
                    group.parameters.end());
    }
    return result;
  }

  std::vector<Options> options_;       // By group.
  std::vector<std::size_t> group_of_;  // By parameter.
};

// The memory in which the elements of a parameter are updated, and their order
// there. It is the parameter itself, a copy by rows if the parameter has gaps
// in memory, or a part of a parameter without gaps.
class UpdateTarget {
 public:
  explicit UpdateTarget(const Tensor& parameter,
                        const ElementRange* part = nullptr);
  // Marks the parameter as changed, and copies the result back into it.
  void finish() const;

  const Tensor& elements() const { return elements_; }
  // `tensor` with its elements in the same order.
  Tensor alike(const Tensor& tensor) const;
  // Zeros, in the same order.
  Tensor zeros() const;

 private:
  Tensor elements_of(const Tensor& parameter) const;
  Tensor row_of(const Tensor& tensor) const;

  const Tensor& parameter_;
  const ElementRange* const part_;
  const bool dense_;
  const Tensor elements_;
};

}  // namespace optim
}  // namespace hvd
