// SPDX-License-Identifier: Apache-2.0
// An Operation is a collective in flight.
//
//   hvd::libtorch::Operation mean = hvd::libtorch::allreduce_async(loss.detach());
//   ...
//   mean.wait();
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "horovodpp/c/horovodpp.h"
#include "horovodpp/core/export.h"
#include "horovodpp/libtorch/error.h"
#include "horovodpp/libtorch/tensors.h"

namespace HVD_EXPORT hvd {
namespace libtorch {
namespace internal {

// Owns a C handle; its destructor waits for the operation and releases the
// handle.
class OperationHandle {
 public:
  explicit OperationHandle(hvd_operation number) : number_(number) {}
  ~OperationHandle() { hvd_release(number_); }
  OperationHandle(const OperationHandle&) = delete;
  OperationHandle& operator=(const OperationHandle&) = delete;

  hvd_operation number() const { return number_; }

 private:
  const hvd_operation number_;
};

// A result, in the memory of the operation, which lives as long as the tensor.
inline torch::Tensor result_of(const std::shared_ptr<OperationHandle>& handle,
                               std::size_t index) {
  hvd_tensor found{};
  throw_if_error(hvd_result(handle->number(), index, &found));
  const torch::IntArrayRef shape(found.dims,
                                 static_cast<std::size_t>(found.num_dims));
  return torch::from_blob(
      found.data, shape, [handle](void*) {},
      torch::TensorOptions()
          .dtype(type_of(found.dtype))
          .device(device_of(found.device)));
}

}  // namespace internal

// Movable. Its destructor waits; it holds its tensors until then. For one
// thread at a time.
class [[nodiscard]] Operation {
 public:
  // Turns the successful operation into the results.
  using Finish = std::function<std::vector<torch::Tensor>(
      const std::shared_ptr<internal::OperationHandle>&)>;

  Operation(hvd_operation number, std::vector<torch::Tensor> used,
            Finish finish)
      : used_(std::move(used)),
        handle_(std::make_shared<internal::OperationHandle>(number)),
        finish_(std::move(finish)) {}

  // Whether it has ended; never waits.
  bool poll() const {
    if (handle_ == nullptr) return true;
    std::int32_t done = 0;
    internal::throw_if_error(hvd_poll(handle_->number(), &done));
    return done != 0;
  }

  // Waits for the result; callable any number of times.
  //   Error  the collective failed
  torch::Tensor wait() { return wait_all().front(); }

  // All results: of a group, in the order of its tensors; of an alltoall, the
  // rows and how many came from each rank.
  const std::vector<torch::Tensor>& wait_all() {
    if (handle_ != nullptr) {
      internal::throw_if_error(hvd_wait(handle_->number()));
      results_ = finish_(handle_);
      handle_ = nullptr;
      used_.clear();
    }
    return results_;
  }

 private:
  std::vector<torch::Tensor> used_;                    // Outlives the handle.
  std::shared_ptr<internal::OperationHandle> handle_;  // Null: it has ended.
  Finish finish_;
  std::vector<torch::Tensor> results_;
};

}  // namespace libtorch
}  // namespace hvd
