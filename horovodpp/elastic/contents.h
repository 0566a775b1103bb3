// SPDX-License-Identifier: Apache-2.0
// The contents of a State: the kept objects, and copies of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "horovodpp/elastic/boundary.h"
#include "horovodpp/elastic/newcomer_watch.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/optim/optimizer.h"

namespace hvd::optim {
class DistributedOptimizer;
}

namespace hvd::elastic {

class StateContents {
 public:
  // A kept object, and how to get and to set its state.
  struct Object {
    std::string name;
    std::function<nn::StateDict()> get;
    std::function<void(const nn::StateDict&)> put;
    nn::Module* module = nullptr;
    optim::Optimizer* optimizer = nullptr;
  };

  //   InvalidArgument  the name is taken, empty, or has a dot
  void add(Object object);

  // Whether an optimizer shards its updates, so that its state_dict() needs all
  // ranks.
  bool is_sharded() const;

  // --- Steps ---
  void begin_step();
  bool uses_steps() const { return boundary_.has_value(); }
  void pass_boundary() { ++version_; }
  std::int64_t version() const { return version_; }

  // --- Copies ---
  // With sharded updates every rank calls it.
  void save();
  // The same on one rank; a sharded optimizer's state is that of load(), if any.
  void save_at_start();
  bool is_saved() const { return is_saved_; }
  // Goes back to the boundary if no optimizer has made a step since, else to
  // the last save().
  void restore();

  // --- Exchange ---
  // The state as it is, which shares its memory. That of a sharded optimizer is
  // as of the last save().
  nn::StateDict all() const;
  // Replaces the state with all() of another rank, or of an earlier job.
  void load(const nn::StateDict& state);

  void rejoin();

  bool has_state = true;  // A newcomer has none at first.
  NewcomerWatch newcomers;

 private:
  struct Entry {
    Object object;
    optim::DistributedOptimizer* distributed = nullptr;  // Null: it is none.
    nn::StateDict saved = {};
    nn::StateDict at_boundary = {};  // Of other values.

    bool is_value() const {
      return object.optimizer == nullptr && object.module == nullptr;
    }
    bool is_sharded() const;
    // Sets the state. That of sharded updates may be missing.
    void put(const nn::StateDict& state) const;
  };
  void set_saved(std::vector<nn::StateDict> copies);  // By entry.

  std::vector<Entry> entries_;
  std::int64_t version_ = 0;        // Boundaries passed,
  std::int64_t saved_version_ = 0;  // and at the last save().
  bool is_saved_ = false;
  std::optional<Boundary> boundary_;  // With end_step() only.
};

}  // namespace hvd::elastic
