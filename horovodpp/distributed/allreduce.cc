// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/distributed/exchange.h"
#include "horovodpp/distributed/on_job.h"
#include "horovodpp/distributed/tensor_collectives.h"

namespace hvd {
namespace distributed {
namespace {

// y = allreduce(x):  dx = allreduce(dy), with the same options
struct AllreduceBackward : autograd::Node {
  const char* name() const override { return "AllreduceBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    check_linear(options.op, "allreduce", forward_name);
    Tensors reduced = at_once(
        [&] { return allreduce_on(*job, completed(*this, grads), options); });
    std::move(reduced.begin(), reduced.end(), results.begin());
  }
  void describe(const Job& of, const AllreduceOptions& forward) {
    job = of;
    forward_name = forward.name;
    options = forward;
    options.name = gradient_name(forward.name);
    options.keep_alive = nullptr;
  }
  std::optional<Job> job;
  std::string forward_name;
  AllreduceOptions options;
};

Future<void> allreduce_in_place(const char* operation, const Tensors& tensors,
                                AllreduceOptions options) {
  const Job job = Job::current();
  const std::string name = options.name;
  return exchange_in_place(
      job, tensors,
      {.operation = operation,
       .owner = std::exchange(options.keep_alive, nullptr),
       .submit =
           [&](Runtime& runtime, const MemoryPtr& memory) {
             options.keep_alive = memory;
             return runtime.grouped_allreduce_async_(memory->views(), options);
           },
       .node =
           [&](std::size_t index) {
             const auto node = autograd::make_node<AllreduceBackward>();
             node->describe(job, options);
             if (tensors.size() > 1 && !name.empty()) {
               node->options.name =
                   gradient_name(absl::StrCat(name, ".", index));
             }
             return node;
           }});
}

}  // namespace

Future<Tensors> allreduce_on(const Job& job, const Tensors& tensors,
                             AllreduceOptions options) {
  const auto memory = std::make_shared<const Memory>(
      tensors, "allreduce", std::exchange(options.keep_alive, nullptr));
  autograd::Ref<AllreduceBackward> node;
  if (any_needs_grad(tensors)) {
    node = node_of<AllreduceBackward>(tensors);
    node->describe(job, options);
  }
  options.keep_alive = memory;
  return exchange(
      job,
      [&](Runtime& runtime) {
        return runtime.grouped_allreduce_async(memory->const_views(), options);
      },
      node);
}

}  // namespace distributed

using distributed::at_once;
using distributed::Job;

Future<Tensor> allreduce_async(const Tensor& tensor, AllreduceOptions options) {
  return distributed::first_of(
      grouped_allreduce_async({tensor}, std::move(options)));
}

Tensor allreduce(const Tensor& tensor, AllreduceOptions options) {
  return at_once([&] { return allreduce_async(tensor, std::move(options)); });
}

Future<std::vector<Tensor>> grouped_allreduce_async(
    const std::vector<Tensor>& tensors, AllreduceOptions options) {
  return distributed::allreduce_on(Job::current(), tensors, std::move(options));
}

std::vector<Tensor> grouped_allreduce(const std::vector<Tensor>& tensors,
                                      AllreduceOptions options) {
  return at_once(
      [&] { return grouped_allreduce_async(tensors, std::move(options)); });
}

Future<void> allreduce_async_(const Tensor& tensor, AllreduceOptions options) {
  return distributed::allreduce_in_place("allreduce_", {tensor},
                                         std::move(options));
}

const Tensor& allreduce_(const Tensor& tensor, AllreduceOptions options) {
  at_once([&] { return allreduce_async_(tensor, std::move(options)); });
  return tensor;
}

Future<void> grouped_allreduce_async_(const std::vector<Tensor>& tensors,
                                      AllreduceOptions options) {
  return distributed::allreduce_in_place("grouped_allreduce_", tensors,
                                         std::move(options));
}

void grouped_allreduce_(const std::vector<Tensor>& tensors,
                        AllreduceOptions options) {
  at_once(
      [&] { return grouped_allreduce_async_(tensors, std::move(options)); });
}

}  // namespace hvd
