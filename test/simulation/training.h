// SPDX-License-Identifier: Apache-2.0
// Training is the repetitive part of a random program: steps of named
// operations, submitted in any order, with occasional irregularities.
#pragma once

#include <string>
#include <vector>

#include "test/simulation/random.h"
#include "test/simulation/script.h"

namespace hvd::simulation {

// A name that is used repeatedly.
struct Tensor {
  std::string name;
  int set = 0;
  coordinator::Request request = {};
  // By rank: the item in flight under this name, -1 if none.
  std::vector<int> in_flight = {};
};

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

}  // namespace hvd::simulation
