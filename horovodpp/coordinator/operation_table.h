// SPDX-License-Identifier: Apache-2.0
// An OperationTable is what one rank knows of the operations that were agreed on:
// their names and ids, and how far its own submission of each has come.
//
// Pure: no thread, no clock, no I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "horovodpp/coordinator/message.h"
#include "horovodpp/coordinator/name_table.h"
#include "horovodpp/core/clock.h"

namespace hvd::coordinator {

struct Submission;

struct Operation {
  enum class State : std::uint8_t {
    kIdle,       // Not submitted,
    kMarked,     // on the board,
    kInCycle,    // to be executed as the cycle says,
    kDeferred,   // to be marked once the cycle is over,
    kExecuting,  // given out.
  };

  Define definition = {};
  std::uint64_t node_members = 0;  // Bits of the local ranks concerned.
  bool is_member = false;          // Whether this rank is one.
  bool has_name = false;           // Its name stands for it: see id_of().
  State state = State::kIdle;
  std::uint32_t submissions = 0;
  Clock::TimePoint since = {};  // Submitted,
  Submission* mine = nullptr;   // as this.

  const Request& request() const { return *definition.request; }
  const Key& key() const { return definition.request->key; }
  bool serves_once() const { return definition.slot == kNoSlot; }
};

class OperationTable {
 public:
  using Map = absl::flat_hash_map<std::uint32_t, Operation>;

  //   Internal  its id is known already
  absl::Status define(Operation operation);

  // nullptr: it is not known (any more). Valid until the table changes.
  Operation* find(std::uint32_t id) {
    const auto found = operations_.find(id);
    return found == operations_.end() ? nullptr : &found->second;
  }
  const Operation* find(std::uint32_t id) const {
    const auto found = operations_.find(id);
    return found == operations_.end() ? nullptr : &found->second;
  }

  // Of the name's newest operation that does not serve just once.
  std::optional<std::uint32_t> id_of(const Key& key) const {
    return ids_.find(key);
  }

  // Whether that is `operation`.
  bool is_of_its_name(const Operation& operation) const {
    return operation.has_name;
  }

  // Its name has no id any more, unless it has another one by now.
  void forget_name(std::uint32_t id);
  // Forgets all of it.
  void erase(std::uint32_t id);

  // Whether every id that `records` name is known.
  bool knows(const Record& record) const;

  // Ids in this state, ascending.
  std::vector<std::uint32_t> ids_in(Operation::State state) const;

  Map::iterator begin() { return operations_.begin(); }
  Map::iterator end() { return operations_.end(); }
  Map::const_iterator begin() const { return operations_.begin(); }
  Map::const_iterator end() const { return operations_.end(); }

 private:
  Map operations_;
  NameTable ids_;
};

}  // namespace hvd::coordinator
