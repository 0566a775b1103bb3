#include "horovodpp/autograd/thread_state.h"

#include "horovodpp/autograd/generator.h"
#include "horovodpp/autograd/saved_tensor.h"

namespace hvd::autograd {

constinit thread_local ThreadState thread_state{};

Surroundings Surroundings::capture() {
  Surroundings result;
  result.grad_enabled_ = thread_state.grad_enabled;
  result.generator_ = &default_generator();
  result.saved_tensor_hooks_ =
      Ref<SavedTensorHooks>::share(thread_state.saved_tensor_hooks);
  return result;
}

Surroundings::Surroundings(const Surroundings& other) = default;
Surroundings::~Surroundings() = default;

Surroundings::Scope::Scope(const Surroundings& surroundings)
    : saved_(thread_state) {
  thread_state.grad_enabled = surroundings.grad_enabled_;
  thread_state.generator = surroundings.generator_;
  thread_state.saved_tensor_hooks = surroundings.saved_tensor_hooks_.get();
}

Surroundings::Scope::~Scope() {
  thread_state.grad_enabled = saved_.grad_enabled;
  thread_state.generator = saved_.generator;
  thread_state.saved_tensor_hooks = saved_.saved_tensor_hooks;
}

}  // namespace hvd::autograd
