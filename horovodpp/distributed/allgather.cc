// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/distributed/exchange.h"
#include "horovodpp/distributed/on_job.h"
#include "horovodpp/distributed/tensor_collectives.h"
#include "horovodpp/tensor/factories.h"

namespace hvd {
namespace distributed {
namespace {

// y = allgather(x):  dx = this rank's rows of the average of dy
struct AllgatherBackward : autograd::Node {
  const char* name() const override { return "AllgatherBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const auto tensors = static_cast<std::int64_t>(rows.size());
    const Future<Tensors> all_rows = allgather_on(
        *job, {from_vector(rows, {1, tensors})},
        {.name = options.name.empty() ? "" : options.name + ".rows",
         .process_set = options.process_set});
    const Tensors averages = at_once([&] {
      return allreduce_on(
          *job, completed(*this, grads),
          {.name = options.name, .process_set = options.process_set});
    });
    const Tensor table = value_or_throw(all_rows.wait()).front();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::vector<std::int64_t> of_ranks =
          table.select(1, static_cast<std::int64_t>(i))
              .to_vector<std::int64_t>();
      const std::int64_t before = std::accumulate(
          of_ranks.begin(), of_ranks.begin() + position, std::int64_t{0});
      results[i] = averages[i].narrow(0, before, rows[i]);
    }
  }
  std::optional<Job> job;
  AllgatherOptions options;
  std::vector<std::int64_t> rows;  // This rank's rows of each tensor.
  int position = 0;
};

}  // namespace

Future<Tensors> allgather_on(const Job& job, const Tensors& tensors,
                             AllgatherOptions options) {
  const auto memory = std::make_shared<const Memory>(
      tensors, "allgather", std::exchange(options.keep_alive, nullptr));
  autograd::Ref<AllgatherBackward> node;
  if (any_needs_grad(tensors)) {
    node = node_of<AllgatherBackward>(tensors);
    node->job = job;
    node->options = options;
    node->options.name = gradient_name(options.name);
    node->position = job.place_in(options.process_set).position;
    for (const Tensor& tensor : tensors) {
      node->rows.push_back(tensor.dim() == 0 ? 0 : tensor.size(0));
    }
  }
  options.keep_alive = memory;
  return exchange(
      job,
      [&](Runtime& runtime) {
        return runtime.grouped_allgather_async(memory->const_views(), options);
      },
      node);
}

}  // namespace distributed

using distributed::at_once;
using distributed::Job;

Future<Tensor> allgather_async(const Tensor& tensor, AllgatherOptions options) {
  return distributed::first_of(
      grouped_allgather_async({tensor}, std::move(options)));
}

Tensor allgather(const Tensor& tensor, AllgatherOptions options) {
  return at_once([&] { return allgather_async(tensor, std::move(options)); });
}

Future<std::vector<Tensor>> grouped_allgather_async(
    const std::vector<Tensor>& tensors, AllgatherOptions options) {
  return distributed::allgather_on(Job::current(), tensors, std::move(options));
}

std::vector<Tensor> grouped_allgather(const std::vector<Tensor>& tensors,
                                      AllgatherOptions options) {
  return at_once(
      [&] { return grouped_allgather_async(tensors, std::move(options)); });
}

}  // namespace hvd
