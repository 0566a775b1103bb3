// SPDX-License-Identifier: Apache-2.0
// ArenaGradients allocate the gradients of parameters next to each other in the
// arena of a job (runtime/arena_alloc.h). The ranks of a node then reduce them
// in place, and fused gradients are one piece of memory.
//
// Some gradients use ordinary memory: a gradient that a caller replaced or
// whose place is still held, and all if the arena has no room. Gradients may
// outlive this object and the job.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/nn/state_dict.h"
#include "horovodpp/tensor/gradient_home.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd {
class Runtime;
}

namespace hvd::optim {

// Zeros in the job's arena, or null if it has no room.
std::shared_ptr<void> arena_block(Runtime& job, std::size_t bytes);

// The order in which a backward is likely to complete gradients: the last
// parameters first, but the members of a group together.
std::vector<std::size_t> order_of_gradients(
    const std::vector<nn::NamedTensor>& parameters,
    const std::vector<std::vector<std::string>>& groups);

// A home at byte `offset` of `block` for the gradient of `parameter`.
std::shared_ptr<autograd::GradientHome> home_in(
    const std::shared_ptr<void>& block, std::size_t offset,
    const Tensor& parameter);

class ArenaGradients {
 public:
  ArenaGradients() = default;
  ~ArenaGradients();
  ArenaGradients(const ArenaGradients&) = delete;
  ArenaGradients& operator=(const ArenaGradients&) = delete;

  // Places the gradients of `parameters`, in this order, from the next backward
  // on. Returns false if the arena has no room; the gradients then stay where
  // they are.
  bool add(Runtime& job, const std::vector<nn::NamedTensor>& parameters);

  // The names of the gradients that have left the arena since the last call.
  std::vector<std::string> strayed();

 private:
  struct Member {
    nn::NamedTensor parameter;
    std::shared_ptr<autograd::GradientHome> home;
    bool is_at_home = true;
  };
  std::vector<Member> members_;
};

}  // namespace hvd::optim
