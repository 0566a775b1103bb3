// SPDX-License-Identifier: Apache-2.0
// How a random program is written: Script, Training, Generator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "test/simulation/generator.h"
#include "test/simulation/program.h"
#include "test/simulation/random.h"

namespace hvd::simulation {

// A Script is a program in the making: it appends actions to the threads of
// single ranks, and records which items are in flight where.
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

// A name that is used repeatedly.
struct Tensor {
  std::string name;
  int set = 0;
  coordinator::Request request = {};
  // By rank: the item in flight under this name, -1 if none.
  std::vector<int> in_flight = {};
};

// Training is the repetitive part of a random program: steps of named
// operations, submitted in any order, with occasional irregularities.
class Training {
 public:
  Training(Random& random, Program& program, Script& script, int threads)
      : random_(random),
        program_(program),
        script_(script),
        threads_(threads) {}

  // Makes `steps` steps with `tensors`. `calm` steps differ only in each rank's
  // order.
  void run(const std::vector<Tensor*>& tensors, int steps, bool calm);

  // Every rank waits for its item in flight under `tensor`.
  void settle(Tensor& tensor);
  // Ensures that `rank` may submit `tensor`.
  void settle_on(int rank, int thread, Tensor& tensor);

 private:
  struct Planned {
    int item = 0;
    int thread = 0;
    Tensor* tensor = nullptr;  // nullptr if the name is used once.
    bool late = false;  // Some ranks wait for others before they submit it.
  };

  std::vector<Planned> plan(const std::vector<Tensor*>& tensors, bool calm);
  Planned plan_tensor(Tensor& tensor, int thread, bool calm);
  Planned plan_once(int thread);
  void act(int rank, int thread, std::vector<Planned> mine);
  void act_in_order(int rank, int thread, const std::vector<Planned>& mine);
  void submit(int rank, int thread, const Planned& planned);
  void wait_for_rest(int rank, int thread, std::vector<Planned> mine);

  Random& random_;
  Program& program_;
  Script& script_;
  const int threads_;
  int next_once_ = 0;
};

// A Generator writes one random program.
class Generator {
 public:
  Generator(std::uint64_t seed, const Limits& limits)
      : random_(seed),
        limits_(limits),
        script_(program_),
        threads_(random_.percent(25) ? random_.between(2, 3) : 1),
        training_(random_, program_, script_, threads_) {
    program_.seed = seed;
  }

  Program generate();

 private:
  void choose_job();
  void choose_pace();
  void choose_options();
  std::vector<int> random_members();
  void add_tensors(int count);

  void train();
  void join();
  void round_of(Tensor& tensor, int round, const std::vector<int>& rounds,
                std::vector<std::vector<int>>& items);
  bool is_of_members(int set) const;
  void add_sets();
  void remove_set();
  Item item_of_all(coordinator::RequestKind kind, const std::string& name);
  void submit_and_wait_everywhere(const std::vector<int>& items);

  void finish();
  int cut(int rank, bool leaves);
  void relax(int rank, unsigned outcome);
  void choose_deaths();

  Random random_;
  const Limits limits_;
  Program program_;
  Script script_;
  const int threads_;
  Training training_;
  std::deque<Tensor> tensors_;
  std::vector<int> live_sets_ = {0};
  std::vector<int> sets_of_members_;  // Made by their members alone.
  int next_name_ = 0;
  // Where phases begin.
  std::vector<std::vector<std::vector<std::size_t>>> phases_;
};

}  // namespace hvd::simulation
