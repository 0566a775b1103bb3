// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "horovodpp/distributed/exchange.h"
#include "horovodpp/distributed/on_job.h"
#include "horovodpp/distributed/tensor_collectives.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/factories.h"

namespace hvd {
namespace distributed {
namespace {

// y = rows of all ranks' x:  dx = dy's rows sent back, 0 for those that stayed
struct AlltoallBackward : autograd::Node {
  const char* name() const override { return "AlltoallBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor back =
        at_once([&] { return alltoall_on(*job, grads[0], options); }).front();
    autograd::Dims stayed = shape;
    stayed[0] -= back.size(0);
    results[0] = stayed[0] == 0
                     ? back
                     : cat({back, zeros(stayed, {.dtype = back.dtype()})});
  }
  std::optional<Job> job;
  AlltoallOptions options;  // Its splits are the received rows.
  autograd::Dims shape;     // Of x.
};

std::vector<std::int64_t> splits_in(const Tensors& result) {
  return result[1].to_vector<std::int64_t>();
}

}  // namespace

Future<Tensors> alltoall_on(const Job& job, const Tensor& tensor,
                            AlltoallOptions options) {
  const auto memory = std::make_shared<const Memory>(
      Tensors{tensor}, "alltoall", std::exchange(options.keep_alive, nullptr));
  autograd::Ref<AlltoallBackward> node;
  if (any_needs_grad({tensor})) {
    node = node_of<AlltoallBackward>({tensor});
    node->job = job;
    node->options = {.name = gradient_name(options.name),
                     .process_set = options.process_set};
    node->shape = tensor.shape();
  }
  options.keep_alive = memory;
  const Future<Tensors> result = exchange(
      job,
      [&](Runtime& runtime) {
        return runtime.alltoall_async(memory->const_views().front(), options);
      },
      node);
  if (!node) return result;
  return map<Tensors>(result, [node](const Tensors& received) {
    node->options.splits = splits_in(received);
    return received;
  });
}

}  // namespace distributed

using distributed::at_once;
using distributed::Tensors;

Future<TensorAlltoallResult> alltoall_async(const Tensor& tensor,
                                            AlltoallOptions options) {
  return distributed::map<TensorAlltoallResult>(
      distributed::alltoall_on(distributed::Job::current(), tensor,
                               std::move(options)),
      [](const Tensors& received) {
        return TensorAlltoallResult{
            .tensor = received.front(),
            .received_splits = distributed::splits_in(received)};
      });
}

TensorAlltoallResult alltoall(const Tensor& tensor, AlltoallOptions options) {
  return at_once([&] { return alltoall_async(tensor, std::move(options)); });
}

}  // namespace hvd
