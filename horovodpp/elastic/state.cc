// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/elastic/state.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/elastic/contents.h"
#include "horovodpp/elastic/hosts_updated.h"
#include "horovodpp/nn/state_layout.h"
#include "horovodpp/optim/distributed/broadcast_state.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/snapshot/snapshots.h"
#include "horovodpp/tensor/base/thread_state.h"

namespace hvd::elastic {
namespace {

// The rank to take the state from, or -1 if no rank has one.
struct Furthest {
  int rank = -1;
  bool all_have_it = false;
};

// `version`: the boundaries that this rank's state has passed; negative if it
// has no state.
Furthest furthest_of(Runtime& job, std::int64_t version) {
  Future<Buffer> done =
      job.allgather_async(ConstTensorView::of(&version, {1}),
                          {.name = "horovodpp.elastic.versions"});
  const Buffer all = value_or_throw(done.take());
  const auto* const begin = all.data<std::int64_t>();
  const auto* const end = begin + all.num_elements();
  const auto [least, most] = std::minmax_element(begin, end);
  if (*most < 0) return {};
  // The first of the furthest ranks.
  return {static_cast<int>(std::find(begin, end, *most) - begin),
          *least == *most};
}

}  // namespace

HostsUpdatedInterrupt::HostsUpdatedInterrupt()
    : Error(absl::UnavailableError("newcomers wait to join the job; let "
                                   "hvd::elastic::run() handle this")) {}

State::State() : contents_(std::make_unique<StateContents>()) {}

State::State(nn::Module& model, optim::Optimizer& optimizer) : State() {
  keep("model", model);
  keep("optimizer", optimizer);
}

State::~State() = default;

void State::keep_value(const std::string& name, Get get, Put put,
                       nn::Module* module, optim::Optimizer* optimizer) {
  contents_->add({.name = name,
                  .get = std::move(get),
                  .put = std::move(put),
                  .module = module,
                  .optimizer = optimizer});
}

void State::register_reset_callback(std::function<void()> callback) {
  callbacks_.push_back(std::move(callback));
}

void State::end_step() {
  if (contents_->is_sharded()) {
    throw Error(absl::FailedPreconditionError(
        "end_step() of an elastic state with sharded updates, of which a lost "
        "rank takes its part along; use commit()"));
  }
  contents_->pass_boundary();
  contents_->begin_step();
  look_for_newcomers();
}

void State::commit() {
  save();
  look_for_newcomers();
}

void State::save() { contents_->save(); }

void State::save_to(snapshot::Snapshots& snapshots, std::int64_t step) {
  NoGrad no_grad;
  nn::StateDict all = contents_->all();
  std::vector<snapshot::NamedBytes> bytes;
  for (auto& [name, tensor] : all) {
    tensor = tensor.contiguous();
    bytes.push_back({name, tensor.raw_data(), tensor.bytes()});
  }
  const std::string layout = value_or_throw(nn::layout_of(all));
  throw_if_error(snapshots.save(step, bytes, layout));
}

std::optional<std::int64_t> State::load_from(snapshot::Snapshots& snapshots) {
  if (value_or_throw(find_runtime())->is_newcomer()) return std::nullopt;
  const std::optional<snapshot::Snapshot> newest =
      value_or_throw(snapshots.load_newest());
  if (!newest) return std::nullopt;
  nn::StateDict all = nn::empty_state(newest->note());
  const auto& values = newest->values();
  if (all.size() != values.size()) {
    throw InvalidArgument("the snapshot is of no elastic state");
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].tensor.bytes() != values[i].size) {
      throw InvalidArgument("the snapshot is of no elastic state");
    }
    if (values[i].size == 0) continue;
    std::memcpy(all[i].tensor.raw_data(), values[i].data, values[i].size);
  }
  contents_->load(all);
  return newest->step();
}

void State::look_for_newcomers() {
  if (contents_->newcomers.look()) throw HostsUpdatedInterrupt();
}

void State::restore() { contents_->restore(); }

void State::on_reset(bool is_lost) {
  contents_->rejoin();
  // A newcomer changes the parts that sharded updates have.
  if (is_lost || contents_->is_sharded()) contents_->restore();
  for (const auto& callback : callbacks_) callback();
}

void State::sync() {
  const std::shared_ptr<Runtime> job = value_or_throw(find_runtime());
  if (!contents_->is_saved()) {
    // A newcomer enters a job that runs: at first it has nothing to give.
    contents_->has_state = !job->is_newcomer();
    if (contents_->has_state) contents_->save_at_start();
  }
  const Furthest furthest =
      furthest_of(*job, contents_->has_state ? contents_->version() : -1);
  if (furthest.rank < 0) {
    throw Error(absl::DataLossError(
        "all ranks that had the state of the training are lost; start the job "
        "again, from a checkpoint"));
  }
  if (!contents_->uses_steps() || !furthest.all_have_it) {
    take_state_of(furthest.rank);
  }
  if (contents_->uses_steps()) contents_->begin_step();
}

// The state changes after all of it has arrived. So it is of one rank, even if
// another rank is lost meanwhile.
void State::take_state_of(int root) {
  const bool gives = rank() == root;
  nn::StateDict all = gives ? contents_->all() : nn::StateDict();
  optim::broadcast_state_dict(all, root, "elastic");
  if (!gives) contents_->load(all);
  contents_->has_state = true;
  contents_->save();
}

}  // namespace hvd::elastic
