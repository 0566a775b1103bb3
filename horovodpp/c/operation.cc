// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/c/operation.h"

#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "horovodpp/c/arguments.h"
#include "horovodpp/c/call.h"
#include "horovodpp/c/horovodpp.h"
#include "horovodpp/core/status.h"

namespace hvd::c {
namespace {

Status status_of(const Status& outcome) { return outcome; }
template <typename T>
Status status_of(const StatusOr<T>& outcome) {
  return outcome.status();
}

Operation::Results results_of(const Status&) { return {}; }
Operation::Results results_of(const StatusOr<Buffer>& outcome) {
  return {.tensors = {*outcome}};
}
Operation::Results results_of(const StatusOr<std::vector<Buffer>>& outcome) {
  return {.tensors = *outcome};
}
Operation::Results results_of(const StatusOr<AlltoallResult>& outcome) {
  return {.tensors = {outcome->tensor},
          .received_splits = outcome->received_splits};
}
Operation::Results results_of(
    const StatusOr<std::vector<std::int64_t>>& outcome) {
  return {.received_splits = *outcome};
}
Operation::Results results_of(const StatusOr<int>& outcome) {
  return {.rank = *outcome};
}

}  // namespace

bool Operation::poll() const {
  return std::visit([](const auto& future) { return future.poll(); }, future_);
}

bool Operation::wait_for(double seconds) const {
  return std::visit(
      [&](const auto& future) { return future.wait_for(seconds); }, future_);
}

Status Operation::wait() const {
  return std::visit([](const auto& future) { return status_of(future.wait()); },
                    future_);
}

Status Operation::wait_within(double seconds) const {
  return std::visit(
      [&](const auto& future) {
        return status_of(future.wait_within(seconds));
      },
      future_);
}

Status Operation::wait(void* stream) const {
  return std::visit(
      [&](const auto& future) { return status_of(future.wait(stream)); },
      future_);
}

absl::StatusOr<const Operation::Results*> Operation::results() {
  if (!poll()) {
    return absl::FailedPreconditionError(
        "the operation has not ended; call hvd_wait() first");
  }
  if (const Status status = wait(); !status.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the operation failed, and has no result: ", status.to_string()));
  }
  MutexLock lock(mutex_);
  if (results_ == nullptr) {
    results_ = std::make_unique<const Results>(std::visit(
        [](const auto& future) { return results_of(future.wait()); }, future_));
  }
  return results_.get();
}

Handles<Operation>& operations() {
  static auto* const handles = new Handles<Operation>(HandleKind::kOperation);
  return *handles;
}

absl::Status begin(Operation::AnyFuture future, std::uint64_t* handle) {
  auto operation = std::make_shared<Operation>(std::move(future));
  if (operation->poll()) HVD_RETURN_IF_ERROR(operation->wait());
  *handle = operations().add(std::move(operation));
  return absl::OkStatus();
}

}  // namespace hvd::c

namespace {

using hvd::Status;
using hvd::c::call;
using hvd::c::check_not_null;
using hvd::c::operations;

// The rank that is the result of the operation; `why_not` is the error if it
// has another result.
std::int32_t rank_of(hvd_operation operation, std::int32_t* rank,
                     const char* why_not) {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(rank, "rank"));
    HVD_ASSIGN_OR_RETURN(const auto found, operations().find(operation));
    HVD_ASSIGN_OR_RETURN(const auto* results, found->results());
    if (results->rank < 0) return absl::OutOfRangeError(why_not);
    *rank = results->rank;
    return {};
  });
}

}  // namespace

std::int32_t hvd_poll(hvd_operation operation, std::int32_t* done) {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(done, "done"));
    HVD_ASSIGN_OR_RETURN(const auto found, operations().find(operation));
    *done = found->poll() ? 1 : 0;
    return {};
  });
}

std::int32_t hvd_wait(hvd_operation operation) {
  return call([&]() -> Status {
    HVD_ASSIGN_OR_RETURN(const auto found, operations().find(operation));
    return found->wait();
  });
}

std::int32_t hvd_wait_in_stream(hvd_operation operation, void* stream) {
  return call([&]() -> Status {
    HVD_ASSIGN_OR_RETURN(const auto found, operations().find(operation));
    return found->wait(stream);
  });
}

std::int32_t hvd_wait_for(hvd_operation operation, double seconds,
                          std::int32_t* done) {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(done, "done"));
    if (!(seconds >= 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot wait for ", seconds, " seconds"));
    }
    HVD_ASSIGN_OR_RETURN(const auto found, operations().find(operation));
    // Longer than any job, but within the range of the clock.
    constexpr double kForGood = 1e8;
    *done = found->wait_for(seconds < kForGood ? seconds : kForGood) ? 1 : 0;
    return {};
  });
}

std::int32_t hvd_wait_within(hvd_operation operation, double seconds) {
  return call([&]() -> Status {
    HVD_ASSIGN_OR_RETURN(const auto found, operations().find(operation));
    return found->wait_within(seconds);
  });
}

std::int32_t hvd_release(hvd_operation operation) {
  return call([&]() -> Status {
    HVD_ASSIGN_OR_RETURN(const auto taken, operations().take(operation));
    taken->wait().ignore_error();
    return {};
  });
}

std::int32_t hvd_finish(hvd_operation operation) {
  return call([&]() -> Status {
    HVD_ASSIGN_OR_RETURN(const auto taken, operations().take(operation));
    return taken->wait();
  });
}

std::int32_t hvd_result(hvd_operation operation, std::size_t index,
                        hvd_tensor* result) {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(result, "result"));
    HVD_ASSIGN_OR_RETURN(const auto found, operations().find(operation));
    HVD_ASSIGN_OR_RETURN(const auto* results, found->results());
    const auto& tensors = results->tensors;
    if (index >= tensors.size()) {
      return absl::OutOfRangeError(
          absl::StrCat("the operation has ", tensors.size(),
                       " results, and none of number ", index, " from 0"));
    }
    const hvd::IntSpan dims = tensors[index].shape().dims();
    *result = {tensors[index].view().data(), dims.data(),
               static_cast<std::int32_t>(dims.size()),
               static_cast<std::int16_t>(tensors[index].dtype()),
               hvd::c::number_of(tensors[index].view().device())};
    return {};
  });
}

std::int32_t hvd_received_splits(hvd_operation operation,
                                 const std::int64_t** splits,
                                 std::size_t* count) {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(splits, "splits"));
    HVD_RETURN_IF_ERROR(check_not_null(count, "count"));
    HVD_ASSIGN_OR_RETURN(const auto found, operations().find(operation));
    HVD_ASSIGN_OR_RETURN(const auto* results, found->results());
    if (results->received_splits.empty()) {
      return absl::OutOfRangeError("only an alltoall receives splits");
    }
    *splits = results->received_splits.data();
    *count = results->received_splits.size();
    return {};
  });
}

std::int32_t hvd_source(hvd_operation operation, std::int32_t* rank) {
  return rank_of(operation, rank, "only a receive has a source");
}

std::int32_t hvd_joined_last(hvd_operation operation, std::int32_t* rank) {
  return rank_of(operation, rank, "only a join has a last rank");
}
