// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/distributed/sync_state.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "horovodpp/optim/distributed/checksum.h"
#include "horovodpp/replica/objects.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::optim {
namespace {

nn::StateDict collected(const SyncedState& state) {
  nn::StateDict all;
  const auto add = [&](const char* prefix, const nn::StateDict& more) {
    nn::append(all, nn::with_prefix(prefix, more));
  };
  if (state.model != nullptr) add("model.", state.model->state_dict());
  if (state.optimizer != nullptr) {
    add("optimizer.", state.optimizer->state_dict());
  }
  if (state.scheduler != nullptr) {
    add("scheduler.", state.scheduler->state_dict());
  }
  if (state.scaler != nullptr) add("scaler.", state.scaler->state_dict());
  if (state.generator != nullptr) {
    const auto& [seed, offset] = state.generator->state();
    add("generator.",
        {{"seed", nn::count_tensor(static_cast<std::int64_t>(seed))},
         {"offset", nn::count_tensor(static_cast<std::int64_t>(offset))}});
  }
  return all;
}

std::map<std::string, std::uint64_t> checksums_of(const nn::StateDict& all) {
  std::map<std::string, std::uint64_t> result;
  for (const auto& [name, tensor] : all) result[name] = checksum(tensor);
  return result;
}

std::uint64_t checksum_of(const std::map<std::string, std::uint64_t>& all) {
  std::uint64_t result = 0;
  for (const auto& [name, sum] : all) {
    result = combined(result, checksum(name.data(), name.size()));
    result = combined(result, sum);
  }
  return result;
}

void load(const SyncedState& state, const nn::StateDict& all, int root_rank) {
  const nn::LoadOptions options = {
      .source = absl::StrCat("the state of rank ", root_rank)};
  const auto part = [&](const char* prefix) {
    return nn::without_prefix(prefix, all);
  };
  if (state.model != nullptr) {
    state.model->load_state_dict(part("model."), options);
  }
  if (state.optimizer != nullptr) {
    state.optimizer->load_state_dict(part("optimizer."), options);
  }
  if (state.scheduler != nullptr) {
    state.scheduler->load_state_dict(part("scheduler."), options);
  }
  if (state.scaler != nullptr) {
    state.scaler->load_state_dict(part("scaler."), options);
  }
  if (state.generator != nullptr) {
    const nn::StateDict numbers = part("generator.");
    state.generator->set_state(
        {static_cast<std::uint64_t>(nn::count_of(numbers.at(0))),
         static_cast<std::uint64_t>(nn::count_of(numbers.at(1)))});
  }
}

// The names on which `mine` and the root's `theirs` differ.
std::vector<std::string> different_names(
    const std::map<std::string, std::uint64_t>& mine,
    const std::map<std::string, std::uint64_t>& theirs) {
  std::vector<std::string> names;
  for (const auto& [name, sum] : mine) {
    const auto found = theirs.find(name);
    if (found == theirs.end() || found->second != sum) names.push_back(name);
  }
  for (const auto& [name, sum] : theirs) {
    if (mine.count(name) == 0) names.push_back(name);
  }
  return names;
}

}  // namespace

std::vector<StateDifference> sync_state(
    const SyncedState& state, int root_rank,
    const BroadcastParametersOptions& options) {
  const std::shared_ptr<Runtime> job = replica::job_of(options.runtime);
  const replica::ObjectOptions objects = {.name = "state",
                                          .process_set = options.process_set,
                                          .runtime = job.get()};
  nn::StateDict all = collected(state);
  const nn::StateDict own = take_own_state(all, "optimizer.");
  const std::map<std::string, std::uint64_t> mine = checksums_of(all);
  const std::vector<std::string> sums = replica::allgather_object(
      absl::StrCat(absl::Hex(checksum_of(mine))), objects);
  if (std::adjacent_find(sums.begin(), sums.end(), std::not_equal_to<>()) ==
      sums.end()) {
    return {};
  }
  broadcast_state_dict(
      all, root_rank, "state",
      {.process_set = options.process_set, .runtime = job.get()});
  const std::vector<std::string> names =
      different_names(mine, checksums_of(all));
  std::map<std::string, std::vector<int>> found;
  int rank = 0;
  for (const std::string& each :
       replica::allgather_object(absl::StrJoin(names, "\n"), objects)) {
    for (const absl::string_view name :
         absl::StrSplit(each, '\n', absl::SkipEmpty())) {
      found[std::string(name)].push_back(rank);
    }
    ++rank;
  }
  if (job->topology().rank() != root_rank) {
    nn::append(all, own);
    load(state, all, root_rank);
  }
  std::vector<StateDifference> result;
  for (auto& [name, ranks] : found) result.push_back({name, std::move(ranks)});
  return result;
}

}  // namespace hvd::optim
