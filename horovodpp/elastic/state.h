// SPDX-License-Identifier: Apache-2.0
// A State is the data that a training needs to go on after ranks were lost, or
// have joined: models, optimizers and other values.
//
//   std::int64_t step = 0;
//   hvd::elastic::State state(model, optimizer);
//   state.keep("step", step);
//   hvd::elastic::run(state, [&] {
//     while (step < 1000) {
//       optimizer.zero_grad();
//       loss_of(model, step).backward();
//       optimizer.step();
//       ++step;
//       state.end_step();
//     }
//   });
//
// A loop either calls end_step() after each step, and then repeats one step at
// most; or it calls commit() now and then, and goes back to the last commit.
//
// A step between two end_step() is a transaction: only optimizer.step() changes
// parameters and the optimizer's state, after all gradients are reduced. So
// each survivor of a loss is at the boundary before the step, or at the one
// after it. A step makes no collective between optimizer.step() and end_step():
// if a rank is lost in such a call, the survivors go back to the last commit.
//
// Not thread-safe.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/nn/state_dict.h"
#include "horovodpp/optim/optimizer.h"

namespace HVD_EXPORT hvd {
namespace snapshot {
class Snapshots;
}

namespace elastic {

class StateContents;

class State {
 public:
  State();
  // Keeps both, as "model" and "optimizer".
  State(nn::Module& model, optim::Optimizer& optimizer);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Keeps `value`, which outlives this object: a module, an optimizer, a number
  // or bool, or an object with state_dict() and load_state_dict() (a scheduler,
  // a GradScaler) or with state() and load_state() (a sampler). Every rank
  // keeps the same, under the same names, before run().
  //   InvalidArgument  the name is taken, empty, or has a dot
  template <typename T>
  void keep(const std::string& name, T& value);

  // Adds a function to call after the ranks have changed, say to scale the
  // learning rate.
  void register_reset_callback(std::function<void()> callback);

  // Ends a step: a loss from now on does not undo it. Every rank calls it,
  // after the optimizers' steps and after all changes to kept values.
  //   HostsUpdatedInterrupt            newcomers wait; on all ranks
  //   hvd::Error (Aborted)             the job is broken
  //   hvd::Error (FailedPrecondition)  updates are sharded: use commit()
  void end_step();

  // Saves the state in memory. Every rank calls it. Throws as end_step(), but
  // goes with sharded updates.
  void commit();

  // Begins a snapshot of the state on disk, or skips it, as Snapshots::save().
  // Every rank calls it at the same boundary. The state of an optimizer with
  // sharded updates is that of the last commit().
  //   hvd::Error  as Snapshots::save()
  void save_to(snapshot::Snapshots& snapshots, std::int64_t step);
  // Takes over the newest snapshot, with any number of ranks, and returns its
  // step; nullopt if there is none, or if this process joins a running job.
  // Every rank calls it, before run().
  //   hvd::Error       as Snapshots::load_newest()
  //   InvalidArgument  the snapshot does not fit the kept objects
  std::optional<std::int64_t> load_from(snapshot::Snapshots& snapshots);

  // --- Called by run() ---

  // Saves the state, as commit(), but does not look for newcomers.
  void save();
  // Goes back to the last end_step(), or to the last save() if an optimizer has
  // made a step since, or if there was no end_step().
  void restore();
  // Takes the state of the rank that got furthest. Moves nothing if all ranks
  // have passed the same end_step(). Every rank calls it.
  //   hvd::Error (DataLoss)  only newcomers are left, which have no state
  //   hvd::Error             the job is broken
  void sync();
  // Lets the optimizers go on in the current job. After a loss (`is_lost`) it
  // restores the state. Then calls the callbacks.
  void on_reset(bool is_lost);

 private:
  using Get = std::function<nn::StateDict()>;
  using Put = std::function<void(const nn::StateDict&)>;

  // `module` or `optimizer`: the value, if it is one.
  void keep_value(const std::string& name, Get get, Put put,
                  nn::Module* module = nullptr,
                  optim::Optimizer* optimizer = nullptr);

  void look_for_newcomers();
  void take_state_of(int root);

  const std::unique_ptr<StateContents> contents_;
  std::vector<std::function<void()>> callbacks_;
};

template <typename T>
void State::keep(const std::string& name, T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    keep_value(
        name,
        [&value] {
          return nn::StateDict{
              {"value", nn::scalar_tensor(static_cast<double>(value))}};
        },
        [&value](const nn::StateDict& state) {
          value = static_cast<T>(nn::scalar_of(state.at(0)));
        });
  } else if constexpr (std::is_integral_v<T>) {
    keep_value(
        name,
        [&value] {
          return nn::StateDict{
              {"value", nn::count_tensor(static_cast<std::int64_t>(value))}};
        },
        [&value](const nn::StateDict& state) {
          value = static_cast<T>(nn::count_of(state.at(0)));
        });
  } else if constexpr (requires { value.state_dict(); }) {
    nn::Module* module = nullptr;
    optim::Optimizer* optimizer = nullptr;
    if constexpr (std::is_base_of_v<nn::Module, T>) module = &value;
    if constexpr (std::is_base_of_v<optim::Optimizer, T>) optimizer = &value;
    keep_value(
        name, [&value] { return value.state_dict(); },
        [&value](const nn::StateDict& state) { value.load_state_dict(state); },
        module, optimizer);
  } else {
    keep_value(
        name,
        [&value] {
          return nn::StateDict{{"value", value.state()}};
        },
        [&value](const nn::StateDict& state) {
          value.load_state(state.at(0).tensor);
        });
  }
}

}  // namespace elastic
}  // namespace hvd
