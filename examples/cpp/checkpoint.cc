// SPDX-License-Identifier: Apache-2.0
#include "checkpoint.h"

#include <cstring>
#include <exception>
#include <functional>
#include <utility>

#include <horovodpp/core/system/atomic_file.h>

namespace {

using hvd::nn::StateDict;

constexpr char kModel[] = "model.";
constexpr char kOptimizer[] = "optimizer.";
constexpr char kSchedule[] = "schedule.";
constexpr char kSampler[] = "sampler";
constexpr char kGenerators[] = "generators";

// int64 [ranks, 2]: seed and offset of each rank's generator.
hvd::Tensor gather_generators() {
  const auto& state = hvd::autograd::default_generator().state();
  std::int64_t mine[2] = {static_cast<std::int64_t>(state.seed),
                          static_cast<std::int64_t>(state.offset)};
  const auto all = hvd::value_or_throw(hvd::allgather(
      hvd::TensorView::of(mine, {1, 2}), {.name = "generators"}));
  hvd::Tensor result =
      hvd::empty({hvd::size(), 2}, {.dtype = hvd::DType::kI64});
  std::memcpy(result.raw_data(), all.view().data(), all.bytes());
  return result;
}

void restore_generator(const hvd::Tensor& states) {
  const auto mine = states.select(0, hvd::rank()).to_vector<std::int64_t>();
  hvd::autograd::default_generator().set_state(
      {.seed = static_cast<std::uint64_t>(mine[0]),
       .offset = static_cast<std::uint64_t>(mine[1])});
}

// Rank 0 calls `work`. If that throws, all ranks throw.
void by_rank_0(const std::string& path, const std::function<void()>& work) {
  std::exception_ptr failure;
  if (hvd::rank() == 0) {
    try {
      work();
    } catch (const std::exception&) {
      failure = std::current_exception();
    }
  }
  std::int64_t failures = failure == nullptr ? 0 : 1;
  hvd::throw_if_error(
      hvd::allreduce_(hvd::TensorView::of(&failures, {1}),
                      {.name = "checkpoint", .op = hvd::ReduceOp::kSum}));
  if (failure != nullptr) std::rethrow_exception(failure);
  if (failures == 0) return;
  throw hvd::Error(hvd::Status(
      hvd::StatusCode::kAborted,
      "rank 0 could not write '" + path + "'; its message says why"));
}

hvd::Tensor only_tensor(const StateDict& all, const std::string& name) {
  const StateDict found = hvd::nn::without_prefix(name, all);
  if (found.size() == 1) return found[0].tensor;
  throw hvd::InvalidArgument("the checkpoint has no '" + name + "'");
}

}  // namespace

Checkpoint::Checkpoint(const Parts& parts, Settings settings)
    : parts_(parts), settings_(std::move(settings)) {}

void Checkpoint::check_writable(const std::string& path) {
  by_rank_0(path, [&] { const hvd::AtomicFile discarded(path); });
}

void Checkpoint::save(const std::string& path) const {
  const hvd::Tensor generators = gather_generators();
  by_rank_0(path, [&] { write(path, generators); });
}

void Checkpoint::write(const std::string& path,
                       const hvd::Tensor& generators) const {
  using namespace hvd::nn;
  StateDict all = with_prefix(kModel, parts_.model.state_dict());
  append(all, with_prefix(kOptimizer, parts_.optimizer.state_dict()));
  append(all, with_prefix(kSchedule, parts_.schedule.state_dict()));
  append(all, {{kSampler, parts_.sampler.state()}, {kGenerators, generators}});
  save_safetensors(path, all, settings_);
}

void Checkpoint::check_settings(
    const std::string& path,
    const std::map<std::string, std::string>& found) const {
  for (const auto& [name, value] : settings_) {
    const auto there = found.find(name);
    if (there == found.end()) {
      throw hvd::InvalidArgument("'" + path + "' is no checkpoint of such a " +
                                 "run: it does not say its " + name);
    }
    if (there->second == value) continue;
    throw hvd::InvalidArgument("'" + path + "' is of a run with " + name +
                               " '" + there->second + "', and this one has '" +
                               value + "'; it goes on with the same only");
  }
}

void Checkpoint::load(const std::string& path) const {
  using namespace hvd::nn;
  const SafetensorsFile file = load_safetensors(path);
  check_settings(path, file.metadata);
  const StateDict& all = file.tensors;
  const LoadOptions from{.source = "'" + path + "'"};
  parts_.model.load_state_dict(without_prefix(kModel, all), from);
  parts_.optimizer.load_state_dict(without_prefix(kOptimizer, all), from);
  parts_.schedule.load_state_dict(without_prefix(kSchedule, all), from);
  parts_.sampler.load_state(only_tensor(all, kSampler));
  restore_generator(only_tensor(all, kGenerators));
}
