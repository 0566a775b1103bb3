// SPDX-License-Identifier: Apache-2.0
// A Generator writes one random program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "test/simulation/generator.h"
#include "test/simulation/random.h"
#include "test/simulation/script.h"
#include "test/simulation/training.h"

namespace hvd::simulation {

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
  int next_name_ = 0;
  // Where phases begin.
  std::vector<std::vector<std::vector<std::size_t>>> phases_;
};

}  // namespace hvd::simulation
