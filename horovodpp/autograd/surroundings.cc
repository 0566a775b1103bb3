#include "horovodpp/autograd/surroundings.h"

#include "horovodpp/autograd/saved_tensor.h"
#include "horovodpp/tensor/generator.h"

namespace hvd::autograd {
namespace {

// All but what the engine keeps for itself on each thread.
void put_in_force(const ThreadState& state) {
  ThreadState next = state;
  next.graph_task = thread_state.graph_task;
  next.backward_depth = thread_state.backward_depth;
  next.next_sequence = thread_state.next_sequence;
  thread_state = next;
}

}  // namespace

Surroundings Surroundings::capture() {
  Surroundings result;
  result.state_ = thread_state;
  result.state_.generator = &default_generator();
  result.saved_tensor_keeper_ =
      Ref<SavedTensorKeeper>::share(thread_state.saved_tensor_keeper);
  return result;
}

Surroundings::Surroundings(const Surroundings& other) = default;
Surroundings::~Surroundings() = default;

Surroundings::Scope::Scope(const Surroundings& surroundings)
    : saved_(thread_state) {
  put_in_force(surroundings.state_);
}

Surroundings::Scope::~Scope() { put_in_force(saved_); }

}  // namespace hvd::autograd
