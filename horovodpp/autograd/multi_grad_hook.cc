// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/multi_grad_hook.h"

#include <memory>
#include <utility>

#include "horovodpp/autograd/graph/accumulate_grad.h"
#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/autograd/graph_task.h"
#include "horovodpp/autograd/record/record.h"

namespace hvd::autograd {
namespace {

// Where the gradient of a watched tensor arrives: at a node, which lives as
// long as its hook, or at a leaf.
struct Place {
  const Node* node = nullptr;
  std::weak_ptr<int> hook;
  WeakTensor leaf;

  bool expected_in(const GraphTask& task) const {
    if (node != nullptr) return !hook.expired() && task.visits(*node);
    const Tensor tensor = leaf.lock();
    if (!tensor.defined()) return false;
    const Ref<Node> accumulator = existing_grad_accumulator(tensor);
    return accumulator && task.visits(*accumulator);
  }
};

struct Watch {
  std::vector<Place> places;
  std::function<void(const std::vector<Tensor>&)> all;
  std::function<void(const Tensor&)> any;
};

// State of one backward.
struct Arrived {
  std::vector<Tensor> gradients;
  std::size_t missing = 0;
  bool fired = false;
};

void arrive(const std::shared_ptr<Watch>& watch, std::size_t index,
            const Tensor& gradient) {
  GraphTask& task = *graph_state.graph_task;
  auto& slot = task.local(watch.get());
  if (slot == nullptr) {
    auto fresh = std::make_shared<Arrived>();
    fresh->gradients.resize(watch->places.size());
    for (const Place& place : watch->places) {
      fresh->missing += place.expected_in(task) ? 1 : 0;
    }
    slot = std::move(fresh);
  }
  const auto arrived = std::static_pointer_cast<Arrived>(slot);
  if (arrived->fired) return;
  if (watch->any) {
    arrived->fired = true;
    watch->any(gradient);
    return;
  }
  arrived->gradients[index] = gradient;
  if (--arrived->missing > 0) return;
  arrived->fired = true;
  watch->all(arrived->gradients);
}

std::vector<HookHandle> watch_all(const std::vector<Tensor>& tensors,
                                  const std::shared_ptr<Watch>& watch) {
  std::vector<HookHandle> handles;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    auto alive = std::make_shared<int>();
    handles.push_back(
        tensors[i].register_hook([watch, i, alive](const Tensor& gradient) {
          arrive(watch, i, gradient);
        }));
    Place& place = watch->places.emplace_back();
    place.hook = alive;
    if (tensors[i].is_leaf()) {
      place.leaf = WeakTensor(tensors[i]);
    } else {
      place.node = tensors[i].grad_fn().get();
    }
  }
  return handles;
}

}  // namespace

MultiGradHandle register_multi_grad_hook(
    const std::vector<Tensor>& tensors,
    std::function<void(const std::vector<Tensor>&)> hook) {
  auto watch = std::make_shared<Watch>();
  watch->all = std::move(hook);
  MultiGradHandle handle;
  handle.handles_ = watch_all(tensors, watch);
  return handle;
}

MultiGradHandle register_any_grad_hook(
    const std::vector<Tensor>& tensors,
    std::function<void(const Tensor&)> hook) {
  auto watch = std::make_shared<Watch>();
  watch->any = std::move(hook);
  MultiGradHandle handle;
  handle.handles_ = watch_all(tensors, watch);
  return handle;
}

}  // namespace hvd::autograd
