// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/core/reduce_arithmetic.h"
#include "horovodpp/distributed/exchange.h"
#include "horovodpp/distributed/on_job.h"
#include "horovodpp/distributed/tensor_collectives.h"
#include "horovodpp/ops/elementwise_ops.h"

namespace hvd {
namespace distributed {
namespace {

// y = reducescatter(x):  dx = allgather(factor dy)
struct ReducescatterBackward : autograd::Node {
  const char* name() const override { return "ReducescatterBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    check_linear(op, "reducescatter", forward_name);
    Tensors scaled = completed(*this, grads);
    for (Tensor& gradient : scaled) {
      if (factor != 1.0) gradient = mul(gradient, factor);
    }
    Tensors gathered =
        at_once([&] { return allgather_on(*job, scaled, options); });
    std::move(gathered.begin(), gathered.end(), results.begin());
  }
  std::optional<Job> job;
  std::string forward_name;
  AllgatherOptions options;
  ReduceOp op = ReduceOp::kAverage;
  double factor = 1.0;
};

}  // namespace

Future<Tensors> reducescatter_on(const Job& job, const Tensors& tensors,
                                 ReducescatterOptions options) {
  const auto memory = std::make_shared<const Memory>(
      tensors, "reducescatter", std::exchange(options.keep_alive, nullptr));
  autograd::Ref<ReducescatterBackward> node;
  if (any_needs_grad(tensors)) {
    node = node_of<ReducescatterBackward>(tensors);
    node->job = job;
    node->forward_name = options.name;
    node->options = {.name = gradient_name(options.name),
                     .process_set = options.process_set};
    node->op = options.op;
    node->factor = options.prescale_factor * options.postscale_factor;
    if (!describe(options.op).divides) {
      node->factor *= job.place_in(options.process_set).ranks;
    }
  }
  options.keep_alive = memory;
  return exchange(
      job,
      [&](Runtime& runtime) {
        return runtime.grouped_reducescatter_async(memory->const_views(),
                                                   options);
      },
      node);
}

}  // namespace distributed

using distributed::at_once;
using distributed::Job;

Future<Tensor> reducescatter_async(const Tensor& tensor,
                                   ReducescatterOptions options) {
  return distributed::first_of(
      grouped_reducescatter_async({tensor}, std::move(options)));
}

Tensor reducescatter(const Tensor& tensor, ReducescatterOptions options) {
  return at_once(
      [&] { return reducescatter_async(tensor, std::move(options)); });
}

Future<std::vector<Tensor>> grouped_reducescatter_async(
    const std::vector<Tensor>& tensors, ReducescatterOptions options) {
  return distributed::reducescatter_on(Job::current(), tensors,
                                       std::move(options));
}

std::vector<Tensor> grouped_reducescatter(const std::vector<Tensor>& tensors,
                                          ReducescatterOptions options) {
  return at_once(
      [&] { return grouped_reducescatter_async(tensors, std::move(options)); });
}

}  // namespace hvd
