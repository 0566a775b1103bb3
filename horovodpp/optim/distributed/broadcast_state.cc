// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/distributed/broadcast_state.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/nn/state_layout.h"
#include "horovodpp/replica/broadcast.h"
#include "horovodpp/replica/objects.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::optim {

void broadcast_parameters(const std::vector<nn::NamedTensor>& tensors,
                          int root_rank,
                          const BroadcastParametersOptions& options) {
  std::vector<replica::NamedView> views;
  views.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) {
    views.push_back({name, tensor.tensor_view()});
  }
  replica::broadcast(*replica::job_of(options.runtime), views, root_rank,
                     {.name = "broadcast", .process_set = options.process_set});
  for (const auto& [name, tensor] : tensors) tensor.bump_version();
}

void broadcast_state_dict(nn::StateDict& state, int root_rank,
                          const std::string& name,
                          const BroadcastParametersOptions& options) {
  const std::shared_ptr<Runtime> job = replica::job_of(options.runtime);
  const bool is_root = job->topology().rank() == root_rank;
  absl::StatusOr<std::string> header = std::string();
  if (is_root) header = nn::layout_of(state);
  const BroadcastOptions of_all = {.name = name,
                                   .process_set = options.process_set};
  const auto broadcast = [&](const std::string& what, TensorView view) {
    replica::broadcast(*job, {{what, std::move(view)}}, root_rank, of_all);
  };
  // The other ranks wait for a header, so the root must also tell them that it
  // has none.
  auto bytes = header.ok() ? static_cast<std::int64_t>(header->size())
                           : std::int64_t{-1};
  broadcast("header size", TensorView::of(&bytes, {1}));
  throw_if_error(header.status());
  if (bytes < 0) {
    throw Error(absl::InvalidArgumentError(
        absl::StrCat("the ", name, " of rank ", root_rank,
                     " has a state that cannot be sent; "
                     "see the error of that rank")));
  }
  header->resize(static_cast<std::size_t>(bytes));
  broadcast(
      "header",
      TensorView::of(reinterpret_cast<std::uint8_t*>(header->data()), {bytes}));
  if (!is_root) state = nn::empty_state(*header);
  std::vector<replica::NamedView> views;
  for (auto& [key, tensor] : state) {
    tensor = tensor.contiguous();
    views.push_back({key, tensor.tensor_view()});
  }
  replica::broadcast(*job, views, root_rank, of_all);
}

void broadcast_optimizer_state(Optimizer& optimizer, int root_rank,
                               const BroadcastParametersOptions& options) {
  nn::StateDict state = optimizer.state_dict();
  nn::StateDict own = take_own_state(state, "");
  broadcast_state_dict(state, root_rank, "optimizer", options);
  if (replica::job_of(options.runtime)->topology().rank() == root_rank) return;
  nn::append(state, own);
  optimizer.load_state_dict(
      state, {.source = absl::StrCat("the state of rank ", root_rank)});
}

nn::StateDict take_own_state(nn::StateDict& state, const std::string& prefix) {
  nn::StateDict own;
  nn::StateDict rest;
  for (nn::NamedTensor& entry : state) {
    const bool is_own =
        absl::StartsWith(entry.name, absl::StrCat(prefix, "compression."));
    (is_own ? own : rest).push_back(std::move(entry));
  }
  state = std::move(rest);
  return own;
}

}  // namespace hvd::optim
