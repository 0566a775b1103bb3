// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/execution/executor.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/system/failpoints.h"
#include "horovodpp/core/thread/futex_word.h"
#include "horovodpp/runtime/execution/non_reducing.h"
#include "horovodpp/runtime/execution/plane_calls.h"

namespace hvd::runtime {

using coordinator::Batch;
using coordinator::RequestKind;
using coordinator::SubmissionPtr;
using coordinator::Transfer;

namespace {

// Whether the outcome of `batch` carries no results.
bool has_no_results(const Batch& batch) {
  return AllreducePlan::is_for(batch) ||
         batch.request().kind == RequestKind::kBarrier;
}

// Whether all ranks may refuse `batch` before any of them has done anything.
bool can_be_refused(const Batch& batch) {
  return batch.request().captured ||
         batch.request().kind == RequestKind::kReplay;
}

absl::Status does_not_fit(const Batch& batch,
                          const std::vector<SubmissionPtr>& submissions) {
  return absl::InternalError(absl::StrCat("a batch of ", batch.entries.size(),
                                          " entries does not fit ",
                                          submissions.size(), " submissions"));
}

}  // namespace

absl::Status Executor::execute(const Batch& batch,
                               const std::vector<SubmissionPtr>& submissions) {
  if (batch.entries.empty()) return does_not_fit(batch, submissions);
  HVD_RETURN_IF_ERROR(pass_failpoint(Failpoint::kCollectiveBegun));
  const absl::Status status = dispatch(batch, submissions);
  if (!absl::IsUnimplemented(status) || !can_be_refused(batch)) return status;
  const coordinator::Request& request = batch.request();
  refused_ = annotate(status, absl::StrCat(name_of(request.kind), " of ",
                                           request.key.to_string()));
  return absl::OkStatus();
}

absl::Status Executor::dispatch(const Batch& batch,
                                const std::vector<SubmissionPtr>& submissions) {
  if (AllreducePlan::is_for(batch)) return execute_planned(batch, submissions);
  if (batch.request().kind == RequestKind::kBarrier) {
    return execute_barrier(batch, submissions);
  }
  HVD_RETURN_IF_ERROR(set_parts(batch, submissions));
  const coordinator::Request& request = batch.request();
  switch (request.kind) {
    case RequestKind::kAddProcessSet:
    case RequestKind::kNewProcessSet:
      return add_set(static_cast<coordinator::ProcessSetId>(batch.result),
                     request.ranks);
    case RequestKind::kRemoveProcessSet:
    case RequestKind::kFreeProcessSet:
      remove_set(request.subject);
      return absl::OkStatus();
    case RequestKind::kJoin:
      // Every rank has joined: otherwise the batch would not be executed.
      return absl::OkStatus();
    default:
      return communicate(batch);
  }
}

void Executor::complete(const Batch& batch,
                        const std::vector<SubmissionPtr>& submissions) {
  const WakeTogether together;
  if (!refused_.ok()) {
    const absl::Status why = std::exchange(refused_, absl::OkStatus());
    for (const SubmissionPtr& submission : submissions) submission->done(why);
    return;
  }
  if (work_ != nullptr) {
    return complete_later(batch, submissions, std::exchange(work_, nullptr));
  }
  if (has_no_results(batch)) {
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

void Executor::complete_later(const Batch& batch,
                              const std::vector<SubmissionPtr>& submissions,
                              const std::shared_ptr<device::GpuWork>& work) {
  struct Ending {
    SubmissionPtr submission;
    absl::StatusOr<coordinator::Results> outcome;
  };
  const auto endings = std::make_shared<std::vector<Ending>>();
  for (const SubmissionPtr& submission : submissions) {
    submission->is_enqueued = true;
    endings->push_back({submission, coordinator::Results()});
  }
  if (!has_no_results(batch)) {
    std::size_t next = 0;
    for (BatchPart& part : std::exchange(parts_, {})) {
      if (part.mine != nullptr) {
        (*endings)[next++].outcome = std::move(part.outcome);
      }
    }
  }
  for (const Ending& ending : *endings) {
    if (!ending.submission->enqueued || !ending.outcome.ok()) continue;
    ending.submission->enqueued(work, *ending.outcome);
  }
  work->on_end([endings, recorder = recorder_,
                number = traced_number(batch)](const absl::Status& status) {
    if (recorder != nullptr) {
      recorder->write(trace::EventKind::kWorkEnds, {.value = number});
    }
    for (Ending& ending : *endings) {
      if (ending.outcome.ok() && !status.ok()) ending.outcome = status;
      ending.submission->done(std::move(ending.outcome));
    }
    endings->clear();
  });
}

void Executor::fail(const std::vector<SubmissionPtr>& submissions,
                    const absl::Status& why) {
  const auto fail_all = [submissions, why](const absl::Status&) {
    for (const SubmissionPtr& submission : submissions) submission->done(why);
  };
  const auto work = std::exchange(work_, nullptr);
  work == nullptr ? fail_all(why) : work->on_end(fail_all);
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
  if (next == submissions.size()) return absl::OkStatus();
  return does_not_fit(batch, submissions);
}

absl::Status Executor::execute_planned(
    const Batch& batch, const std::vector<SubmissionPtr>& submissions) {
  if (batch.entries.size() != submissions.size()) {
    return does_not_fit(batch, submissions);
  }
  HVD_ASSIGN_OR_RETURN(Planes::Set * set,
                       planes_.find(batch.request().key.process_set));
  PlaneCalls calls(*set, batch, interrupt_, recorder_);
  if (!batch.request().device.is_cpu()) {
    for (const SubmissionPtr& submission : submissions) {
      calls.follow(*submission);
    }
  }
  const absl::Status status = plan_of(batch).execute(calls, submissions);
  work_ = calls.take_work();
  return status;
}

// Outside of a cycle every rank has arrived: otherwise the batch would not be
// executed.
absl::Status Executor::execute_barrier(
    const Batch& batch, const std::vector<SubmissionPtr>& submissions) {
  const auto here = static_cast<std::size_t>(
      std::count_if(batch.entries.begin(), batch.entries.end(),
                    [](const auto& entry) { return entry.submitted_here; }));
  if (here != submissions.size()) return does_not_fit(batch, submissions);
  if (batch.certain) return absl::OkStatus();
  HVD_ASSIGN_OR_RETURN(Planes::Set * set,
                       planes_.find(batch.request().key.process_set));
  return PlaneCalls(*set, batch, interrupt_, recorder_).meet();
}

Executor::Plans& Executor::plans_of(const Batch& batch) {
  if (planned_cycle_ != batch.cycle) {
    plans_.clear();
    planned_cycle_ = batch.cycle;
  }
  if (plans_.size() <= batch.place) plans_.resize(batch.place + 1);
  return plans_[batch.place];
}

AllreducePlan& Executor::plan_of(const Batch& batch) {
  std::optional<AllreducePlan>& plan = plans_of(batch).allreduce;
  if (!plan) plan.emplace(batch);
  return *plan;
}

QuickPlan* Executor::quick_plan_of(const Batch& batch) {
  std::optional<QuickPlan>& plan = plans_of(batch).quick;
  if (!plan) {
    const auto set = planes_.find(batch.request().key.process_set);
    if (!set.ok()) return nullptr;
    plan.emplace(batch, **set, recorder_);
  }
  return plan->is_any() ? &*plan : nullptr;
}

std::string Executor::describe(const Batch& batch) {
  if (batch.entries.empty()) return "nothing";
  const coordinator::Request& request = batch.request();
  std::size_t bytes = 0;
  std::vector<std::string> names;
  for (const Batch::Entry& entry : batch.entries) {
    bytes += entry.agreed->bytes();
    names.push_back(entry.agreed->key.to_string());
  }
  std::string text =
      absl::StrCat(name_of(request.kind), " of ", absl::StrJoin(names, ", "));
  const auto set = planes_.find(request.key.process_set);
  if (bytes == 0 || !set.ok()) return text;
  absl::StrAppend(&text, ", ", bytes, " bytes");
  const auto plane = (*set)->selector.select(request.device, bytes, request.op);
  if (plane.ok()) absl::StrAppend(&text, ", by ", (*plane)->name());
  return text;
}

absl::Status Executor::communicate(const Batch& batch) {
  const coordinator::Request& request = batch.request();
  HVD_ASSIGN_OR_RETURN(Planes::Set * set,
                       planes_.find(request.key.process_set));
  PlaneCalls calls(*set, batch, interrupt_, recorder_);
  for (const BatchPart& part : parts_) {
    if (part.mine != nullptr) calls.follow(*part.mine);
  }
  const absl::Status status = carry_out(batch, calls);
  work_ = calls.take_work();
  return status;
}

absl::Status Executor::carry_out(const Batch& batch, PlaneCalls& calls) {
  const RequestKind kind = batch.request().kind;
  switch (coordinator::describe(kind).transfer) {
    case Transfer::kAllreduce:
      return execute_allreduce(calls, batch.participants, parts_, scratch_);
    case Transfer::kReducescatter:
      return execute_reducescatter(calls, batch.participants, parts_, scratch_);
    case Transfer::kAllgather:
      return execute_allgather(calls, parts_);
    case Transfer::kBroadcast:
      return execute_broadcast(calls, parts_);
    case Transfer::kAlltoall:
      return execute_alltoall(calls, parts_);
    case Transfer::kReplay:
      return execute_replay(calls, parts_);
    case Transfer::kNothing:
      break;
  }
  return absl::InternalError(
      absl::StrCat("a batch is to be executed as ", name_of(kind)));
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
