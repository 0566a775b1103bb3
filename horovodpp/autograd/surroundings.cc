// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/surroundings.h"
#include "horovodpp/autograd/graph/graph_state.h"

#include "horovodpp/autograd/saved/saved_tensor.h"
#include "horovodpp/tensor/base/generator.h"

namespace hvd::autograd {
namespace {

// The parts of this thread's state that a snapshot takes.
ThreadModes& modes() { return thread_state; }
GraphScopes& scopes() { return graph_state; }

void put_in_force(const ThreadModes& thread, const GraphScopes& graph) {
  modes() = thread;
  scopes() = graph;
}

}  // namespace

Surroundings Surroundings::capture() {
  Surroundings result;
  result.thread_ = modes();
  result.thread_.generator = &default_generator();
  result.graph_ = scopes();
  result.saved_tensor_keeper_ =
      Ref<SavedTensorKeeper>::share(graph_state.saved_tensor_keeper);
  return result;
}

Surroundings::Surroundings(const Surroundings& other) = default;
Surroundings::~Surroundings() = default;

Surroundings::Scope::Scope(const Surroundings& surroundings)
    : thread_(modes()), graph_(scopes()) {
  put_in_force(surroundings.thread_, surroundings.graph_);
}

Surroundings::Scope::~Scope() { put_in_force(thread_, graph_); }

}  // namespace hvd::autograd
