// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/surroundings.h"
#include "horovodpp/autograd/graph/graph_state.h"

#include "horovodpp/autograd/saved/saved_tensor.h"
#include "horovodpp/tensor/base/generator.h"

namespace hvd::autograd {
namespace {

void put_in_force(const ThreadModes& thread, const GraphScopes& graph) {
  static_cast<ThreadModes&>(thread_state) = thread;
  static_cast<GraphScopes&>(graph_state) = graph;
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
