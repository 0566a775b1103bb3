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

std::string prefix_of(const std::string& name) {
  return absl::StrCat(name, ".");
}

}  // namespace

bool StateContents::Entry::is_sharded() const {
  return distributed != nullptr && distributed->shards_updates();
}

void StateContents::Entry::put(const nn::StateDict& state) const {
  if (is_sharded() && state.empty()) return;
  object.put(state);
}

void StateContents::add(Object object) {
  const std::string& name = object.name;
  if (name.empty() || name.find('.') != std::string::npos) {
    throw InvalidArgument(absl::StrCat(
        "an elastic state keeps nothing as '", name,
        "': the name must not be empty, and must not contain a dot"));
  }
  for (const Entry& other : entries_) {
    if (other.object.name != name) continue;
    throw InvalidArgument(
        absl::StrCat("an elastic state keeps two values as '", name, "'"));
  }
  auto* const distributed =
      dynamic_cast<DistributedOptimizer*>(object.optimizer);
  entries_.push_back({.object = std::move(object), .distributed = distributed});
  boundary_.reset();  // Made anew, of all.
}

bool StateContents::is_sharded() const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [](const Entry& entry) { return entry.is_sharded(); });
}

void StateContents::begin_step() {
  if (!boundary_) {
    std::vector<nn::Module*> modules;
    std::vector<optim::Optimizer*> optimizers;
    for (const Entry& entry : entries_) {
      if (auto* module = entry.object.module) modules.push_back(module);
      if (auto* optimizer = entry.object.optimizer) {
        optimizers.push_back(optimizer);
      }
    }
    boundary_.emplace(modules, optimizers);
  }
  boundary_->keep();
  for (Entry& entry : entries_) {
    if (entry.is_value()) entry.at_boundary = copy_of(entry.object.get());
  }
}

void StateContents::save() {
  for (const Entry& entry : entries_) {
    if (entry.distributed != nullptr) entry.distributed->finish_step();
  }
  std::vector<nn::StateDict> copies;
  for (const Entry& entry : entries_)
    copies.push_back(copy_of(entry.object.get()));
  set_saved(std::move(copies));
}

void StateContents::save_at_start() {
  std::vector<nn::StateDict> copies;
  for (const Entry& entry : entries_) {
    copies.push_back(entry.is_sharded() ? entry.saved
                                        : copy_of(entry.object.get()));
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
  for (const Entry& entry : entries_) entry.put(entry.saved);
  version_ = saved_version_;
}

nn::StateDict StateContents::all() const {
  nn::StateDict result = {
      {kVersion, nn::count_tensor(version_)},
      {kUsesSteps, nn::count_tensor(boundary_.has_value() ? 1 : 0)}};
  for (const Entry& entry : entries_) {
    nn::StateDict state = entry.is_sharded() ? entry.saved : entry.object.get();
    if (entry.distributed != nullptr) optim::take_own_state(state, "");
    nn::append(result, nn::with_prefix(prefix_of(entry.object.name), state));
  }
  return result;
}

void StateContents::load(const nn::StateDict& state) {
  for (Entry& entry : entries_) {
    nn::StateDict its = nn::without_prefix(prefix_of(entry.object.name), state);
    if (entry.is_sharded()) {
      entry.saved = its;
    } else if (entry.distributed != nullptr) {
      nn::StateDict old = entry.object.get();
      nn::append(its, optim::take_own_state(old, ""));
    }
    entry.put(its);
  }
  version_ = nn::count_of(state.at(0));
  if (nn::count_of(state.at(1)) != 0) begin_step();
}

void StateContents::rejoin() {
  newcomers.forget();
  for (const Entry& entry : entries_) {
    if (entry.distributed != nullptr) entry.distributed->rejoin();
  }
}

}  // namespace hvd::elastic
