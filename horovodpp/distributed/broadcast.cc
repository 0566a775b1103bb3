// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "horovodpp/distributed/exchange.h"
#include "horovodpp/distributed/on_job.h"
#include "horovodpp/distributed/tensor_collectives.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/tensor/factories.h"

namespace hvd {
namespace distributed {
namespace {

// y = the root's x:  dx = the average of dy on the root, 0 elsewhere
struct BroadcastBackward : autograd::Node {
  const char* name() const override { return "BroadcastBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor average =
        at_once([&] {
          return allreduce_on(
              *job, {grads[0]},
              {.name = options.name, .process_set = options.process_set});
        }).front();
    // The other ranks stay part of the graph, because the backward of backward
    // is a collective as well.
    results[0] =
        is_root
            ? average
            : masked_fill(average,
                          ones(average.shape(), {.dtype = DType::kBool}), 0.0);
  }
  std::optional<Job> job;
  BroadcastOptions options;
  bool is_root = false;
};

autograd::Ref<BroadcastBackward> describe(
    const Job& job, int root_rank, const BroadcastOptions& options,
    autograd::Ref<BroadcastBackward> node) {
  node->job = job;
  node->is_root = job.rank() == root_rank;
  node->options = options;
  node->options.name = gradient_name(options.name);
  return node;
}

}  // namespace

Future<Tensors> broadcast_on(const Job& job, const Tensor& tensor,
                             int root_rank, BroadcastOptions options) {
  const auto memory = std::make_shared<const Memory>(
      Tensors{tensor}, "broadcast", std::exchange(options.keep_alive, nullptr));
  autograd::Ref<BroadcastBackward> node;
  if (any_needs_grad({tensor})) {
    node =
        describe(job, root_rank, options, node_of<BroadcastBackward>({tensor}));
  }
  options.keep_alive = memory;
  return exchange(
      job,
      [&](Runtime& runtime) {
        return runtime.broadcast_async(memory->const_views().front(), root_rank,
                                       options);
      },
      node);
}

}  // namespace distributed

using distributed::at_once;
using distributed::Job;

Future<Tensor> broadcast_async(const Tensor& tensor, int root_rank,
                               BroadcastOptions options) {
  return distributed::first_of(distributed::broadcast_on(
      Job::current(), tensor, root_rank, std::move(options)));
}

Tensor broadcast(const Tensor& tensor, int root_rank,
                 BroadcastOptions options) {
  return at_once(
      [&] { return broadcast_async(tensor, root_rank, std::move(options)); });
}

Future<void> broadcast_async_(const Tensor& tensor, int root_rank,
                              BroadcastOptions options) {
  const Job job = Job::current();
  return distributed::exchange_in_place(
      job, {tensor},
      {.operation = "broadcast_",
       .owner = std::exchange(options.keep_alive, nullptr),
       .submit =
           [&](Runtime& runtime, const distributed::MemoryPtr& memory) {
             options.keep_alive = memory;
             return runtime.broadcast_async_(memory->views().front(), root_rank,
                                             options);
           },
       .node =
           [&](std::size_t /*index*/) {
             return distributed::describe(
                 job, root_rank, options,
                 autograd::make_node<distributed::BroadcastBackward>());
           }});
}

const Tensor& broadcast_(const Tensor& tensor, int root_rank,
                         BroadcastOptions options) {
  at_once(
      [&] { return broadcast_async_(tensor, root_rank, std::move(options)); });
  return tensor;
}

}  // namespace hvd
