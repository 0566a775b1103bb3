// SPDX-License-Identifier: Apache-2.0
// ArenaGradients have the gradients of parameters made in the arena of a job
// (runtime/arena_alloc.h), next to each other: the ranks of a node then reduce them
// where they lie, and what is fused is one piece of memory.
//
// A gradient that somebody replaces, or whose place is still held, is ordinary, and
// so are all where the arena has no room. Gradients may outlive this and the job.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/nn/named_tensor.h"
#include "horovodpp/tensor/gradient_home.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd {
class Runtime;
}

namespace hvd::optim {

// Zeros in the job's arena, or null where it has no room.
std::shared_ptr<void> arena_block(Runtime& job, std::size_t bytes);

// The order in which a backward is likely to complete gradients: the last
// parameters first, but those of a group together.
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

  // Those of `parameters`, in this order, from the next backward on. False: the
  // arena has no room, and they stay as they are.
  bool add(Runtime& job, const std::vector<nn::NamedTensor>& parameters);

  // The names of those whose gradients lie elsewhere, and did not when this was
  // called before.
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
