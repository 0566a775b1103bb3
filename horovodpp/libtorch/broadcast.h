// SPDX-License-Identifier: Apache-2.0
// Broadcasts the parameters, buffers and optimizers of one rank to all.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>
#include <torch/serialize/archive.h>
#include <torch/types.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/c/horovodpp.h"
#include "horovodpp/core/export.h"
#include "horovodpp/libtorch/async_collectives.h"
#include "horovodpp/libtorch/error.h"
#include "horovodpp/libtorch/tensors.h"

namespace HVD_EXPORT hvd {
namespace libtorch {

using NamedTensors = torch::OrderedDict<std::string, torch::Tensor>;

// Replaces the tensors by the tensors of rank `root_rank`. Ranks match them by
// name.
//   Error  the ranks' tensors differ in shape or dtype, ...: all transfers have ended
inline void broadcast_parameters(const NamedTensors& tensors, int root_rank,
                                 const ProcessSet& set = {}) {
  std::vector<const char*> names;
  std::vector<torch::Tensor> made;
  for (const auto& item : tensors) {
    names.push_back(item.key().c_str());
    made.push_back(internal::readied(item.value()));
  }
  if (names.empty()) return;
  const std::vector<hvd_tensor> in_words = internal::described(made);
  const hvd_collective_options options =
      internal::in_c(MoveOptions{"parameters", set});
  internal::throw_if_error(hvd_broadcast_tensors(
      names.data(), in_words.data(), in_words.size(), root_rank, &options));
  std::size_t next = 0;
  for (const auto& item : tensors)
    internal::put_back(item.value(), made[next++]);
}

// For the parameters and buffers of a module.
inline void broadcast_parameters(const torch::nn::Module& module, int root_rank,
                                 const ProcessSet& set = {}) {
  NamedTensors all;
  std::vector<const void*> seen;
  const auto take = [&](const NamedTensors& tensors) {
    for (const auto& item : tensors) {
      if (!item.value().defined()) continue;
      // A tensor with two names is sent once.
      const void* const tensor = item.value().unsafeGetTensorImpl();
      if (std::find(seen.begin(), seen.end(), tensor) != seen.end()) continue;
      seen.push_back(tensor);
      all.insert(item.key(), item.value());
    }
  };
  take(module.named_parameters());
  take(module.named_buffers());
  broadcast_parameters(all, root_rank, set);
}

namespace internal {

inline std::string name_of_options(std::size_t group) {
  return "options " + std::to_string(group);
}

// The optimizer's state, and its options, which old versions lose when they
// load it.
inline std::string written(const torch::optim::Optimizer& optimizer) {
  torch::serialize::OutputArchive archive, state;
  state << optimizer;
  archive.write("state", state);
  const auto& groups = optimizer.param_groups();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    torch::serialize::OutputArchive options;
    groups[i].options().serialize(options);
    archive.write(name_of_options(i), options);
  }
  std::string bytes;
  archive.save_to([&bytes](const void* data, std::size_t count) {
    bytes.append(static_cast<const char*>(data), count);
    return count;
  });
  return bytes;
}

inline void read(const std::string& bytes, torch::optim::Optimizer& optimizer) {
  torch::serialize::InputArchive archive, state;
  archive.load_from(bytes.data(), bytes.size());
  archive.read("state", state);
  state >> optimizer;
  auto& groups = optimizer.param_groups();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    torch::serialize::InputArchive options;
    archive.read(name_of_options(i), options);
    groups[i].options().serialize(options);
  }
}

}  // namespace internal

// Replaces the optimizer's state and options (learning rates, ...) by the state
// and options of rank `root_rank`. Other ranks need no state yet.
inline void broadcast_optimizer_state(torch::optim::Optimizer& optimizer,
                                      int root_rank,
                                      const ProcessSet& set = {}) {
  const bool is_root = rank() == root_rank;
  std::string bytes = is_root ? internal::written(optimizer) : "";
  const torch::Tensor count =
      torch::full({1}, static_cast<std::int64_t>(bytes.size()), torch::kLong);
  broadcast_async_(count, root_rank, {"optimizer state size", set}).wait();
  bytes.resize(static_cast<std::size_t>(count.item<std::int64_t>()));
  const torch::Tensor text = torch::from_blob(
      bytes.data(), {count.item<std::int64_t>()}, torch::kByte);
  broadcast_async_(text, root_rank, {"optimizer state", set}).wait();
  if (!is_root) internal::read(bytes, optimizer);
}

}  // namespace libtorch
}  // namespace hvd
