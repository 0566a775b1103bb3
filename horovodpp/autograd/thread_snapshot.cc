// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/thread_snapshot.h"
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

ThreadSnapshot ThreadSnapshot::capture() {
  ThreadSnapshot result;
  result.thread_ = modes();
  result.thread_.generator = &default_generator();
  result.graph_ = scopes();
  result.saved_tensor_store_ =
      Ref<SavedTensorStore>::share(graph_state.saved_tensor_store);
  return result;
}

ThreadSnapshot::ThreadSnapshot(const ThreadSnapshot& other) = default;
ThreadSnapshot::~ThreadSnapshot() = default;

ThreadSnapshot::Scope::Scope(const ThreadSnapshot& snapshot)
    : thread_(modes()), graph_(scopes()) {
  put_in_force(snapshot.thread_, snapshot.graph_);
}

ThreadSnapshot::Scope::~Scope() { put_in_force(thread_, graph_); }

}  // namespace hvd::autograd
