// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/elastic/contents.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/graph_ops.h"
#include "horovodpp/core/error.h"
#include "horovodpp/optim/distributed/distributed_optimizer.h"
#include "horovodpp/tensor/base/thread_state.h"

namespace hvd::elastic {
namespace {

// Positions in the state that is exchanged.
constexpr char kVersion[] = "(version)";
constexpr char kUsesSteps[] = "(steps)";

nn::StateDict copy_of(nn::StateDict state) {
  NoGrad no_grad;
  for (auto& [name, tensor] : state) tensor = tensor.clone();
  return state;
}

bool shards_updates(const optim::Optimizer* optimizer) {
  const auto* distributed =
      dynamic_cast<const DistributedOptimizer*>(optimizer);
  return distributed != nullptr && distributed->shards_updates();
}

std::string prefix_of(const std::string& name) {
  return absl::StrCat(name, ".");
}

}  // namespace

void StateContents::add(Entry entry) {
  const std::string& name = entry.name;
  if (name.empty() || name.find('.') != std::string::npos) {
    throw InvalidArgument(absl::StrCat(
        "an elastic state keeps nothing as '", name,
        "': the name must not be empty, and must not contain a dot"));
  }
  for (const Entry& other : entries_) {
    if (other.name != name) continue;
    throw InvalidArgument(
        absl::StrCat("an elastic state keeps two values as '", name, "'"));
  }
  entries_.push_back(std::move(entry));
  boundary_.reset();  // Made anew, of all.
}

void StateContents::add(const std::string& name, nn::Module& module) {
  add({.name = name,
       .get = [&module] { return module.state_dict(); },
       .put =
           [&module](const nn::StateDict& state) {
             module.load_state_dict(state);
           },
       .module = &module});
}

void StateContents::add(const std::string& name, optim::Optimizer& optimizer) {
  add({.name = name,
       .get = [&optimizer] { return optimizer.state_dict(); },
       .put =
           [&optimizer](const nn::StateDict& state) {
             optimizer.load_state_dict(state);
           },
       .optimizer = &optimizer});
}

void StateContents::add(const std::string& name, Get get, Put put) {
  add({.name = name, .get = std::move(get), .put = std::move(put)});
}

bool StateContents::is_sharded() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) {
    return shards_updates(entry.optimizer);
  });
}

void StateContents::begin_step() {
  if (!boundary_) {
    std::vector<nn::Module*> modules;
    std::vector<optim::Optimizer*> optimizers;
    for (const Entry& entry : entries_) {
      if (entry.module != nullptr) modules.push_back(entry.module);
      if (entry.optimizer != nullptr) optimizers.push_back(entry.optimizer);
    }
    boundary_.emplace(modules, optimizers);
  }
  boundary_->keep();
  for (Entry& entry : entries_) {
    if (entry.is_value()) entry.at_boundary = copy_of(entry.get());
  }
}

void StateContents::save() {
  for (const Entry& entry : entries_) {
    auto* const distributed =
        dynamic_cast<DistributedOptimizer*>(entry.optimizer);
    if (distributed != nullptr) distributed->finish_step();
  }
  std::vector<nn::StateDict> copies;
  for (const Entry& entry : entries_) copies.push_back(copy_of(entry.get()));
  set_saved(std::move(copies));
}

void StateContents::save_at_start() {
  std::vector<nn::StateDict> copies;
  for (const Entry& entry : entries_) {
    copies.push_back(shards_updates(entry.optimizer) ? entry.saved
                                                     : copy_of(entry.get()));
  }
  set_saved(std::move(copies));
}

void StateContents::set_saved(std::vector<nn::StateDict> copies) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    entries_[i].saved = std::move(copies[i]);
  }
  saved_version_ = version_;
  is_saved_ = true;
}

void StateContents::restore() {
  if (boundary_ && !boundary_->is_passed()) {
    boundary_->put_back();
    for (const Entry& entry : entries_) {
      if (entry.is_value()) entry.put(entry.at_boundary);
    }
    return;
  }
  if (!is_saved_) return;
  for (const Entry& entry : entries_) {
    const bool lacks = shards_updates(entry.optimizer) && entry.saved.empty();
    if (!lacks) entry.put(entry.saved);
  }
  version_ = saved_version_;
}

nn::StateDict StateContents::all() const {
  nn::StateDict result = {
      {kVersion, nn::count_tensor(version_)},
      {kUsesSteps, nn::count_tensor(boundary_.has_value() ? 1 : 0)}};
  for (const Entry& entry : entries_) {
    nn::StateDict state =
        shards_updates(entry.optimizer) ? entry.saved : entry.get();
    if (entry.optimizer != nullptr) optim::take_own_state(state, "");
    nn::append(result, nn::with_prefix(prefix_of(entry.name), state));
  }
  return result;
}

void StateContents::load(const nn::StateDict& state) {
  for (Entry& entry : entries_) {
    nn::StateDict its = nn::without_prefix(prefix_of(entry.name), state);
    if (entry.optimizer != nullptr && !shards_updates(entry.optimizer)) {
      nn::StateDict old = entry.get();
      nn::append(its, optim::take_own_state(old, ""));
    }
    if (shards_updates(entry.optimizer)) {
      if (its.empty()) continue;
      entry.saved = its;
    }
    entry.put(its);
  }
  version_ = nn::count_of(state.at(0));
  if (nn::count_of(state.at(1)) != 0) begin_step();
}

void StateContents::rejoin() {
  newcomers.forget();
  for (const Entry& entry : entries_) {
    auto* const distributed =
        dynamic_cast<DistributedOptimizer*>(entry.optimizer);
    if (distributed != nullptr) distributed->rejoin();
  }
}

}  // namespace hvd::elastic
