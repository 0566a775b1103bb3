// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/grouped_optimizer.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/graph_ops.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/trace/span.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::optim {
namespace {

constexpr char kGroups[] = "groups.";

[[noreturn]] void refuse(const nn::LoadOptions& options,
                         const std::string& text) {
  throw InvalidArgument(absl::StrCat(options.source, ": ", text));
}

}  // namespace

// The content of a state_dict, as far as it was read.
struct StatefulOptimizer::Loading {
  const nn::LoadOptions& options;
  absl::flat_hash_map<std::string, std::size_t> parameters;  // By name.
  std::vector<Slots> state;
  std::vector<OptionValues> values;
  std::vector<std::vector<bool>> has_value;
};

StatefulOptimizer::StatefulOptimizer(std::vector<nn::NamedTensor> parameters,
                                     std::vector<StateSlot> slots)
    : Optimizer(std::move(parameters)),
      slot_kinds_(std::move(slots)),
      state_(this->parameters().size(), Slots(slot_kinds_.size())) {}

void StatefulOptimizer::step() {
  const trace::Span span("optimizer");
  NoGrad no_grad;
  for (std::size_t i = 0; i < parameters().size(); ++i) move(i);
}

void StatefulOptimizer::step_of(std::size_t index) {
  NoGrad no_grad;
  move(index);
}

std::vector<nn::NamedTensor> StatefulOptimizer::state() const {
  std::vector<nn::NamedTensor> result;
  for (std::size_t i = 0; i < state_.size(); ++i) {
    for (std::size_t k = 0; k < slot_kinds_.size(); ++k) {
      if (!state_[i][k].defined()) continue;
      result.push_back(
          {absl::StrCat(parameters()[i].name, ".", slot_kinds_[k].name),
           state_[i][k]});
    }
  }
  return result;
}

void StatefulOptimizer::keep_parts(std::vector<ElementRange> parts) {
  const bool had_all = parts_.empty();
  parts_ = std::move(parts);
  NoGrad no_grad;
  for (std::size_t i = 0; i < state_.size(); ++i) {
    if (!had_all) state_[i] = Slots(slot_kinds_.size());
    for (std::size_t k = 0; k < slot_kinds_.size(); ++k) {
      Tensor& slot = state_[i][k];
      if (slot.defined() && !slot_kinds_[k].is_count) slot = kept(i, slot);
    }
  }
}

// The value of a slot for a whole parameter.
Tensor StatefulOptimizer::kept(std::size_t parameter,
                               const Tensor& whole) const {
  const ElementRange* const part = part_of(parameter);
  if (part == nullptr) return whole;
  return whole.alias({part->count()}, {1}, whole.storage_offset() + part->begin)
      .clone();
}

nn::StateDict StatefulOptimizer::state_dict() const {
  nn::StateDict result = nn::with_prefix(kStatePrefix, state());
  const std::vector<OptionValues> groups = option_values();
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const auto& [name, value] : groups[g]) {
      result.push_back(
          {absl::StrCat(kGroups, g, ".", name), nn::scalar_tensor(value)});
    }
  }
  return result;
}

void StatefulOptimizer::load_slot(const std::string& key, const Tensor& tensor,
                                  Loading& loading) const {
  const auto dot = key.rfind('.');
  const auto parameter = loading.parameters.find(key.substr(0, dot));
  const auto kind = std::find_if(
      slot_kinds_.begin(), slot_kinds_.end(), [&](const StateSlot& slot) {
        return dot != std::string::npos && slot.name == key.substr(dot + 1);
      });
  if (parameter == loading.parameters.end() || kind == slot_kinds_.end()) {
    refuse(loading.options, absl::StrCat("the key 'state.", key,
                                         "' is unknown to this optimizer"));
  }
  const UpdateTarget target(parameters()[parameter->second].tensor);
  const auto k = static_cast<std::size_t>(kind - slot_kinds_.begin());
  Tensor& slot = loading.state[parameter->second][k];
  const Tensor like = kind->is_count ? nn::count_tensor(0) : target.elements();
  nn::check_assignment({absl::StrCat(kStatePrefix, key), like, tensor},
                       loading.options);
  NoGrad no_grad;
  const Tensor converted = tensor.detach().to(like.dtype());
  slot = autograd::clone_with_strides(converted, like.strides());
  if (kind->is_count && slot.item<std::int64_t>() < 0) {
    refuse(loading.options, absl::StrCat("'state.", key, "' is negative: ",
                                         slot.item<std::int64_t>()));
  }
  if (!kind->is_count) slot = kept(parameter->second, slot);
}

void StatefulOptimizer::load_option(const std::string& key,
                                    const nn::NamedTensor& entry,
                                    Loading& loading) const {
  const auto dot = key.find('.');
  std::size_t group = 0;
  if (dot != std::string::npos &&
      absl::SimpleAtoi(key.substr(0, dot), &group) &&
      group < loading.values.size()) {
    OptionValues& values = loading.values[group];
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (values[k].first != key.substr(dot + 1)) continue;
      values[k].second = nn::scalar_of(entry);
      loading.has_value[group][k] = true;
      return;
    }
  }
  refuse(loading.options, absl::StrCat("the key '", entry.name,
                                       "' is unknown: this optimizer "
                                       "has ",
                                       loading.values.size(), " groups"));
}

void StatefulOptimizer::check_complete(const Loading& loading) const {
  for (std::size_t g = 0; g < loading.values.size(); ++g) {
    for (std::size_t k = 0; k < loading.values[g].size(); ++k) {
      if (loading.has_value[g][k]) continue;
      refuse(loading.options, absl::StrCat("it lacks 'groups.", g, ".",
                                           loading.values[g][k].first, "'"));
    }
  }
  for (std::size_t i = 0; i < loading.state.size(); ++i) {
    const Slots& slots = loading.state[i];
    const bool any = std::any_of(slots.begin(), slots.end(),
                                 [](const Tensor& t) { return t.defined(); });
    for (std::size_t k = 0; any && k < slots.size(); ++k) {
      if (slots[k].defined() || slot_kinds_[k].may_lack) continue;
      refuse(loading.options,
             absl::StrCat("it lacks 'state.", parameters()[i].name, ".",
                          slot_kinds_[k].name, "'"));
    }
  }
}

void StatefulOptimizer::load_state_dict(const nn::StateDict& state,
                                        const nn::LoadOptions& options) {
  Loading loading{options, {}, {}, option_values(), {}};
  loading.state.assign(state_.size(), Slots(slot_kinds_.size()));
  for (const OptionValues& values : loading.values) {
    loading.has_value.emplace_back(values.size());
  }
  for (std::size_t i = 0; i < parameters().size(); ++i) {
    loading.parameters.emplace(parameters()[i].name, i);
  }
  for (const nn::NamedTensor& entry : state) {
    if (absl::StartsWith(entry.name, kStatePrefix)) {
      load_slot(entry.name.substr(sizeof(kStatePrefix) - 1), entry.tensor,
                loading);
    } else if (absl::StartsWith(entry.name, kGroups)) {
      load_option(entry.name.substr(sizeof(kGroups) - 1), entry, loading);
    } else {
      refuse(options, absl::StrCat("the key '", entry.name,
                                   "' is unknown to an optimizer"));
    }
  }
  check_complete(loading);
  set_option_values(loading.values);
  state_ = std::move(loading.state);
}

void check_group_count(std::size_t rates, std::size_t groups) {
  if (rates == groups) return;
  throw InvalidArgument(absl::StrCat(rates, " learning rates for ", groups,
                                     " groups of parameters"));
}

void check_group(std::size_t group, std::size_t groups) {
  if (group < groups) return;
  throw InvalidArgument(absl::StrCat("there is no group ", group,
                                     " of parameters, only ", groups,
                                     ", numbered from 0"));
}

UpdateTarget::UpdateTarget(const Tensor& parameter, const ElementRange* part)
    : parameter_(parameter),
      part_(part),
      dense_(autograd::is_dense(parameter.shape(), parameter.strides())),
      elements_(elements_of(parameter)) {}

Tensor UpdateTarget::elements_of(const Tensor& parameter) const {
  if (part_ != nullptr) return row_of(parameter);
  return dense_ ? parameter : parameter.detach().contiguous();
}

Tensor UpdateTarget::row_of(const Tensor& tensor) const {
  return tensor.alias({part_->count()}, {1},
                      tensor.storage_offset() + part_->begin);
}

void UpdateTarget::finish() const {
  if (dense_) {
    parameter_.bump_version();
  } else {
    parameter_.copy_(elements_);
  }
}

Tensor UpdateTarget::alike(const Tensor& tensor) const {
  const autograd::Dims& strides =
      (part_ == nullptr ? elements_ : parameter_).strides();
  const Tensor alike = tensor.strides() == strides
                           ? tensor
                           : autograd::clone_with_strides(tensor, strides);
  return part_ == nullptr ? alike : row_of(alike);
}

Tensor UpdateTarget::zeros() const {
  Tensor result = autograd::empty_strided(
      elements_.shape(), elements_.strides(), elements_.dtype());
  result.zero_();
  return result;
}

}  // namespace hvd::optim
