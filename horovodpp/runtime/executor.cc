// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/executor.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/runtime/non_reducing.h"
#include "horovodpp/runtime/plane_calls.h"

namespace hvd::runtime {

using coordinator::Batch;
using coordinator::RequestKind;
using coordinator::SubmissionPtr;

namespace {

absl::Status does_not_fit(const Batch& batch,
                          const std::vector<SubmissionPtr>& submissions) {
  return absl::InternalError(absl::StrCat("a batch of ", batch.entries.size(),
                                          " entries does not fit ",
                                          submissions.size(), " submissions"));
}

}  // namespace

absl::Status Executor::execute(const Batch& batch,
                               const std::vector<SubmissionPtr>& submissions) {
  if (AllreducePlan::is_for(batch)) return execute_planned(batch, submissions);
  HVD_RETURN_IF_ERROR(set_parts(batch, submissions));
  const coordinator::Request& request = batch.request();
  switch (request.kind) {
    case RequestKind::kAddProcessSet:
      return add_set(static_cast<coordinator::ProcessSetId>(batch.result),
                     request.ranks);
    case RequestKind::kRemoveProcessSet:
      remove_set(request.subject);
      return absl::OkStatus();
    case RequestKind::kBarrier:
    case RequestKind::kJoin:
      // That it is being executed says that every rank has arrived.
      return absl::OkStatus();
    default:
      return communicate(batch);
  }
}

void Executor::complete(const Batch& batch,
                        const std::vector<SubmissionPtr>& submissions) {
  if (AllreducePlan::is_for(batch)) {
    for (const SubmissionPtr& submission : submissions) {
      submission->done(coordinator::Results());
    }
    return;
  }
  std::size_t next = 0;
  for (BatchPart& part : parts_) {
    if (part.mine == nullptr) continue;
    if (part.outcome.ok()) part.outcome->number = batch.result;
    submissions[next++]->done(std::move(part.outcome));
  }
  parts_.clear();
}

absl::Status Executor::set_parts(
    const Batch& batch, const std::vector<SubmissionPtr>& submissions) {
  parts_.clear();
  std::size_t next = 0;
  for (const Batch::Entry& entry : batch.entries) {
    parts_.push_back({.agreed = *entry.agreed});
    if (!entry.submitted_here) continue;
    if (next < submissions.size()) parts_.back().mine = submissions[next].get();
    ++next;
  }
  if (next == submissions.size() && !parts_.empty()) return absl::OkStatus();
  return does_not_fit(batch, submissions);
}

absl::Status Executor::execute_planned(
    const Batch& batch, const std::vector<SubmissionPtr>& submissions) {
  if (batch.entries.size() != submissions.size()) {
    return does_not_fit(batch, submissions);
  }
  HVD_ASSIGN_OR_RETURN(Planes::Set * set,
                       planes_.find(batch.request().key.process_set));
  PlaneCalls calls(*set, batch, interrupt_);
  if (!batch.request().device.is_cpu()) {
    for (const SubmissionPtr& submission : submissions) {
      calls.follow(*submission);
    }
  }
  return plan_of(batch).execute(calls, submissions);
}

AllreducePlan& Executor::plan_of(const Batch& batch) {
  if (planned_cycle_ != batch.cycle) {
    plans_.clear();
    planned_cycle_ = batch.cycle;
  }
  if (plans_.size() <= batch.place) plans_.resize(batch.place + 1);
  std::optional<AllreducePlan>& plan = plans_[batch.place];
  if (!plan) plan.emplace(batch);
  return *plan;
}

absl::Status Executor::communicate(const Batch& batch) {
  const coordinator::Request& request = batch.request();
  HVD_ASSIGN_OR_RETURN(Planes::Set * set,
                       planes_.find(request.key.process_set));
  PlaneCalls calls(*set, batch, interrupt_);
  for (const BatchPart& part : parts_) {
    if (part.mine != nullptr) calls.follow(*part.mine);
  }
  switch (request.kind) {
    case RequestKind::kAllreduce:
      return execute_allreduce(calls, batch.participants, parts_, scratch_);
    case RequestKind::kReducescatter:
      return execute_reducescatter(calls, batch.participants, parts_, scratch_);
    case RequestKind::kAllgather:
      return execute_allgather(calls, parts_);
    case RequestKind::kBroadcast:
      return execute_broadcast(calls, parts_);
    case RequestKind::kAlltoall:
      return execute_alltoall(calls, parts_);
    default:
      return absl::InternalError(
          absl::StrCat("a batch is to be executed as ", name_of(request.kind)));
  }
}

absl::Status Executor::add_set(coordinator::ProcessSetId id,
                               const std::vector<int>& ranks) {
  std::vector<int> members = ranks;
  std::sort(members.begin(), members.end());
  HVD_RETURN_IF_ERROR(planes_.add(id, members));
  sets_.add(id, members);
  return absl::OkStatus();
}

void Executor::remove_set(coordinator::ProcessSetId id) {
  sets_.remove(id);
  planes_.remove(id);
}

}  // namespace hvd::runtime
