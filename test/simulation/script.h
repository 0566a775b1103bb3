// SPDX-License-Identifier: Apache-2.0
// A Script is a program in the making: it appends actions to the threads of
// single ranks, and records which items are in flight where.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "test/simulation/program.h"

namespace hvd::simulation {

class Script {
 public:
  explicit Script(Program& program) : program_(program) {}

  int add(Item item) {
    program_.items.push_back(std::move(item));
    return static_cast<int>(program_.items.size()) - 1;
  }
  Item& item(int index) {
    return program_.items[static_cast<std::size_t>(index)];
  }
  std::vector<Action>& thread(int rank, int index) {
    return program_.threads[static_cast<std::size_t>(rank)]
                           [static_cast<std::size_t>(index)];
  }

  void submit(int rank, int thread, int item) {
    this->thread(rank, thread).push_back({Action::Kind::kSubmit, item});
  }
  void wait(int rank, int thread, int item) {
    this->thread(rank, thread).push_back({Action::Kind::kWait, item});
  }
  // All threads of each rank meet.
  void meet() {
    for (auto& threads : program_.threads) {
      if (threads.size() == 1) continue;
      for (auto& thread : threads) thread.push_back({Action::Kind::kMeet});
    }
  }
  // The current end of each thread of each rank: a place to cut.
  std::vector<std::vector<std::size_t>> position() const {
    std::vector<std::vector<std::size_t>> position;
    for (const auto& threads : program_.threads) {
      auto& row = position.emplace_back();
      for (const auto& thread : threads) row.push_back(thread.size());
    }
    return position;
  }

 private:
  Program& program_;
};

}  // namespace hvd::simulation
