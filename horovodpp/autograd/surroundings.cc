// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/surroundings.h"
#include "horovodpp/autograd/graph/graph_state.h"

#include "horovodpp/autograd/saved/saved_tensor.h"
#include "horovodpp/tensor/base/generator.h"

namespace hvd::autograd {
namespace {

// Sets all state except the engine's part of each thread.
void put_in_force(const ThreadState& thread, const GraphState& graph) {
  thread_state = thread;
  GraphState next = graph;
  next.graph_task = graph_state.graph_task;
  next.backward_depth = graph_state.backward_depth;
  next.next_sequence = graph_state.next_sequence;
  graph_state = next;
}

}  // namespace

Surroundings Surroundings::capture() {
  Surroundings result;
  result.thread_ = thread_state;
  result.thread_.generator = &default_generator();
  result.graph_ = graph_state;
  result.saved_tensor_keeper_ =
      Ref<SavedTensorKeeper>::share(graph_state.saved_tensor_keeper);
  return result;
}

Surroundings::Surroundings(const Surroundings& other) = default;
Surroundings::~Surroundings() = default;

Surroundings::Scope::Scope(const Surroundings& surroundings)
    : thread_(thread_state), graph_(graph_state) {
  put_in_force(surroundings.thread_, surroundings.graph_);
}

Surroundings::Scope::~Scope() { put_in_force(thread_, graph_); }

}  // namespace hvd::autograd
