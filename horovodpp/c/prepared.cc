// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/prepared.h"

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "horovodpp/c/arguments.h"
#include "horovodpp/c/call.h"
#include "horovodpp/c/collective_options.h"
#include "horovodpp/c/handles.h"
#include "horovodpp/c/horovodpp.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::c {
namespace {

// Serializes the threads that use one Prepared, which C callers need not do.
struct SharedPrepared {
  explicit SharedPrepared(Prepared made) : prepared(std::move(made)) {}
  Mutex mutex;
  Prepared prepared ABSL_GUARDED_BY(mutex);
};

Handles<SharedPrepared>& all_prepared() {
  static auto* const handles =
      new Handles<SharedPrepared>(HandleKind::kPrepared);
  return *handles;
}

// Prepares with `make(job)` and gives the result a handle.
template <typename Make>
std::int32_t prepare_by(hvd_prepared* handle, Make&& make) noexcept {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(handle, "prepared"));
    HVD_ASSIGN_OR_RETURN(const auto runtime, find_runtime());
    HVD_ASSIGN_OR_RETURN(Prepared prepared, make(*runtime));
    *handle = all_prepared().add(
        std::make_shared<SharedPrepared>(std::move(prepared)));
    return {};
  });
}

template <typename Body>
std::int32_t with_prepared(hvd_prepared handle, Body body) noexcept {
  return call([&]() -> Status {
    HVD_ASSIGN_OR_RETURN(const auto found, all_prepared().find(handle));
    MutexLock lock(found->mutex);
    return body(found->prepared);
  });
}

}  // namespace
}  // namespace hvd::c

namespace {

using hvd::AllreduceOptions;
using hvd::Prepared;
using hvd::Runtime;
using hvd::Status;
using MaybePrepared = hvd::StatusOr<Prepared>;
using hvd::c::call;
using hvd::c::check_not_null;
using hvd::c::moving_options;
using hvd::c::prepare_by;
using hvd::c::reduction_options;
using hvd::c::transfer_of;
using hvd::c::with_prepared;

}  // namespace

std::int32_t hvd_prepare_allreduce(const hvd_tensor* tensors, std::size_t count,
                                   const hvd_allreduce_options* options,
                                   hvd_prepared* prepared) {
  return prepare_by(prepared, [&](Runtime& job) -> MaybePrepared {
    HVD_ASSIGN_OR_RETURN(auto views, hvd::c::views_of(tensors, count));
    HVD_ASSIGN_OR_RETURN(auto read,
                         reduction_options<AllreduceOptions>(options));
    if (count == 1) {
      return job.prepare_allreduce_(std::move(views[0]), std::move(read));
    }
    return job.prepare_grouped_allreduce_(views, std::move(read));
  });
}

std::int32_t hvd_prepare_broadcast(const hvd_tensor* tensor,
                                   std::int32_t root_rank,
                                   const hvd_collective_options* options,
                                   hvd_prepared* prepared) {
  return prepare_by(prepared, [&](Runtime& job) -> MaybePrepared {
    HVD_RETURN_IF_ERROR(check_not_null(tensor, "tensor"));
    HVD_ASSIGN_OR_RETURN(hvd::TensorView view, hvd::c::view_of(*tensor));
    HVD_ASSIGN_OR_RETURN(auto read,
                         moving_options<hvd::BroadcastOptions>(options));
    return job.prepare_broadcast_(std::move(view), root_rank, std::move(read));
  });
}

std::int32_t hvd_prepare_allgather(const hvd_tensor* tensor,
                                   const hvd_tensor* result,
                                   const hvd_collective_options* options,
                                   hvd_prepared* prepared) {
  return prepare_by(prepared, [&](Runtime& job) -> MaybePrepared {
    HVD_ASSIGN_OR_RETURN(auto views, transfer_of(tensor, result));
    HVD_ASSIGN_OR_RETURN(auto read,
                         moving_options<hvd::AllgatherOptions>(options));
    return job.prepare_allgather(views.tensor, std::move(views.result),
                                 std::move(read));
  });
}

std::int32_t hvd_prepare_reducescatter(const hvd_tensor* tensor,
                                       const hvd_tensor* result,
                                       const hvd_reducescatter_options* options,
                                       hvd_prepared* prepared) {
  return prepare_by(prepared, [&](Runtime& job) -> MaybePrepared {
    HVD_ASSIGN_OR_RETURN(auto views, transfer_of(tensor, result));
    HVD_ASSIGN_OR_RETURN(auto read,
                         reduction_options<hvd::ReducescatterOptions>(options));
    return job.prepare_reducescatter(views.tensor, std::move(views.result),
                                     std::move(read));
  });
}

std::int32_t hvd_prepare_alltoall(const hvd_tensor* tensor,
                                  const hvd_tensor* result,
                                  const hvd_alltoall_options* options,
                                  hvd_prepared* prepared) {
  return prepare_by(prepared, [&](Runtime& job) -> MaybePrepared {
    HVD_ASSIGN_OR_RETURN(auto views, transfer_of(tensor, result));
    HVD_ASSIGN_OR_RETURN(auto read, hvd::c::alltoall_options(options));
    return job.prepare_alltoall(views.tensor, std::move(views.result),
                                std::move(read));
  });
}

std::int32_t hvd_prepared_start(hvd_prepared prepared) {
  return with_prepared(prepared, [](Prepared& found) -> Status {
    found.start();
    return {};
  });
}

std::int32_t hvd_prepared_poll(hvd_prepared prepared, std::int32_t* done) {
  return with_prepared(prepared, [&](Prepared& found) -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(done, "done"));
    *done = found.poll() ? 1 : 0;
    return {};
  });
}

std::int32_t hvd_prepared_wait(hvd_prepared prepared) {
  return with_prepared(prepared, [](Prepared& found) { return found.wait(); });
}

std::int32_t hvd_prepared_run(hvd_prepared prepared) {
  return with_prepared(prepared, [](Prepared& found) { return found.run(); });
}

std::int32_t hvd_prepared_release(hvd_prepared prepared) {
  return call([&] { return hvd::c::all_prepared().take(prepared).status(); });
}
