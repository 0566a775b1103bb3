// SPDX-License-Identifier: Apache-2.0
// An OperationTable holds the agreed operations that one rank knows: names, ids
// and the state of this rank's submission of each.
//
// Pure: no thread, no clock, no I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "horovodpp/coordinator/protocol/message.h"
#include "horovodpp/coordinator/protocol/name_table.h"
#include "horovodpp/core/thread/clock.h"

namespace hvd::coordinator {

struct Submission;

struct Operation {
  enum class State : std::uint8_t {
    kIdle,       // Not submitted.
    kMarked,     // Marked on the board.
    kInCycle,    // To be executed in the cycle.
    kDeferred,   // To be marked after the cycle.
    kExecuting,  // Handed out for execution.
  };

  Define definition = {};
  // A bit for each local rank that must submit.
  std::uint64_t node_members = 0;
  bool is_member = false;  // Whether this rank must.
  bool has_name = false;   // Its name maps to its id: see id_of().
  State state = State::kIdle;
  std::uint32_t submissions = 0;
  Clock::TimePoint since = {};  // When this rank submitted it,
  Submission* mine = nullptr;   // and its submission.

  const Request& request() const { return *definition.request; }
  const Key& key() const { return definition.request->key; }
  bool serves_once() const { return definition.slot == kNoSlot; }

  // Position in the cycle with this number; see Batch.
  struct Place {
    std::uint64_t cycle = 0;
    std::uint32_t batch = 0;
    std::uint32_t entry = 0;
  };
  Place place = {};
};

class OperationTable {
 public:
  using Map = absl::node_hash_map<std::uint32_t, Operation>;

  //   Internal  the id is already known
  absl::Status define(Operation operation);

  // nullptr if unknown or retired. Valid until the id is erased.
  Operation* find(std::uint32_t id) {
    const auto found = operations_.find(id);
    return found == operations_.end() ? nullptr : &found->second;
  }
  const Operation* find(std::uint32_t id) const {
    const auto found = operations_.find(id);
    return found == operations_.end() ? nullptr : &found->second;
  }

  // The id of the name's newest operation; operations that serve once are
  // skipped.
  std::optional<std::uint32_t> id_of(const Key& key) const {
    return ids_.find(key);
  }

  // Increases whenever a name's operation changes. While it is equal, a lookup
  // by name would find the same operation.
  std::uint64_t changes() const { return changes_; }

  // Removes the name of `id`, unless the name already has another id.
  void forget_name(std::uint32_t id);
  // Removes the operation.
  void erase(std::uint32_t id);

  // Whether the id that `record` names, if any, is known.
  bool knows(const Record& record) const;

  // The ids in this state, ascending.
  std::vector<std::uint32_t> ids_in(Operation::State state) const;

  Map::iterator begin() { return operations_.begin(); }
  Map::iterator end() { return operations_.end(); }
  Map::const_iterator begin() const { return operations_.begin(); }
  Map::const_iterator end() const { return operations_.end(); }

 private:
  Map operations_;
  NameTable ids_;
  std::uint64_t changes_ = 1;
};

}  // namespace hvd::coordinator
