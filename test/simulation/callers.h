// SPDX-License-Identifier: Apache-2.0
// The Callers are the threads of one rank that submit operations and wait for
// them as a program says. They also know the rank's operations in flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "test/simulation/program.h"

namespace hvd::simulation {

class Callers {
 public:
  Callers(const Program& program, int rank);

  // The thread makes its next action. Returns a description for a trace.
  // take_runnable() tells whether the thread can go on.
  std::string act(int thread);
  // The threads that can go on.
  std::vector<int> take_runnable();

  // The news for the rank's background thread.
  std::vector<coordinator::Request> take_requests();
  std::vector<coordinator::Key> take_waited_for();
  bool take_leave();

  // The item in flight under `key`; -1 if none.
  int in_flight(const coordinator::Key& key) const;
  std::size_t in_flight() const { return in_flight_.size(); }
  // Whether a join of this set is in flight.
  bool has_joined(coordinator::ProcessSetId set) const;

  // Gives the operation in flight under `key`, which must exist, its outcome.
  void settle(const coordinator::Key& key, Outcome outcome,
              std::int64_t result = 0);
  // The job is broken.
  void close();

  // The outcome of an item; 0 while it has none.
  unsigned outcome(int item) const {
    return outcomes_[static_cast<std::size_t>(item)];
  }
  bool has_submitted(int item) const {
    return submitted_[static_cast<std::size_t>(item)];
  }
  // Whether all threads have reached the end of their program.
  bool finished() const;
  std::string describe() const;

 private:
  struct Thread {
    std::size_t next = 0;
    bool blocked = false;
  };

  const Action* current(int thread) const;
  void submit(int item);
  void go_on(int thread);
  coordinator::Request resolve(const Item& item) const;

  const Program& program_;
  const int rank_;
  std::vector<Thread> threads_;
  int met_ = 0;
  std::map<int, coordinator::ProcessSetId> numbers_;  // Of sets.
  absl::flat_hash_map<coordinator::Key, int> in_flight_;
  std::vector<std::uint8_t> outcomes_;
  std::vector<bool> submitted_;
  bool closed_ = false;

  std::vector<int> runnable_;
  std::vector<coordinator::Request> requests_;
  std::vector<coordinator::Key> waited_for_;
  bool leave_ = false;
};

}  // namespace hvd::simulation
