// SPDX-License-Identifier: Apache-2.0
// The Executor carries a batch out: a few calls of a plane, or a change of
// process sets, then the outcome to whoever waits. Driven by one thread at a
// time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/coordinator/batch.h"
#include "horovodpp/coordinator/submission.h"
#include "horovodpp/runtime/execution/allreduce_plan.h"
#include "horovodpp/runtime/execution/batch_part.h"
#include "horovodpp/runtime/execution/planes.h"
#include "horovodpp/runtime/execution/quick_plan.h"
#include "horovodpp/runtime/execution/reductions.h"
#include "horovodpp/runtime/execution/set_table.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::runtime {

class Executor {
 public:
  // All of them outlive this. Planes wait under `interrupt`.
  Executor(Planes& planes, SetTable& sets, transport::Interrupt& interrupt)
      : planes_(planes), sets_(sets), interrupt_(interrupt) {}

  // Executes `batch`; `submissions` are those of the entries that are submitted
  // here, in order.
  //   Cancelled  the batch was abandoned: nothing was completed, and inputs and
  //              outputs are as they were; it may come again
  //   (errors)   break the job: the peers have executed what this rank could
  //              not. The submissions are then failed by whoever reports it
  absl::Status execute(
      const coordinator::Batch& batch,
      const std::vector<coordinator::SubmissionPtr>& submissions);

  // Tells the submissions what execute(), which returned OK, made of them: at once,
  // or, of what goes on on a GPU, when that has ended, from another thread.
  void complete(const coordinator::Batch& batch,
                const std::vector<coordinator::SubmissionPtr>& submissions);

  // Tells them `why` execute() has failed, when nothing uses their memory any more.
  void fail(const std::vector<coordinator::SubmissionPtr>& submissions,
            const absl::Status& why);

  // How to carry out `batch`, of a cycle, where all ranks are there; nullptr: as any
  // other. Valid until another cycle is in force.
  QuickPlan* quick_plan_of(const coordinator::Batch& batch);

  // "allreduce of 'a', 'b', 4096 bytes, by shm", for a log.
  std::string describe(const coordinator::Batch& batch);

  // Begins to serve a process set; also those there are from the start, the
  // global one among them.
  absl::Status add_set(coordinator::ProcessSetId id,
                       const std::vector<int>& ranks);
  void remove_set(coordinator::ProcessSetId id);

 private:
  absl::Status set_parts(
      const coordinator::Batch& batch,
      const std::vector<coordinator::SubmissionPtr>& submissions);
  absl::Status dispatch(
      const coordinator::Batch& batch,
      const std::vector<coordinator::SubmissionPtr>& submissions);
  absl::Status communicate(const coordinator::Batch& batch);
  absl::Status carry_out(const coordinator::Batch& batch, PlaneCalls& calls);
  absl::Status execute_planned(
      const coordinator::Batch& batch,
      const std::vector<coordinator::SubmissionPtr>& submissions);
  absl::Status execute_barrier(
      const coordinator::Batch& batch,
      const std::vector<coordinator::SubmissionPtr>& submissions);
  // What was worked out for a batch of a cycle.
  struct Plans {
    std::optional<AllreducePlan> allreduce = {};
    std::optional<QuickPlan> quick = {};
  };
  Plans& plans_of(const coordinator::Batch& batch);
  AllreducePlan& plan_of(const coordinator::Batch& batch);
  void complete_later(
      const coordinator::Batch& batch,
      const std::vector<coordinator::SubmissionPtr>& submissions,
      const std::shared_ptr<device::GpuWork>& work);

  Planes& planes_;
  SetTable& sets_;
  transport::Interrupt& interrupt_;
  // Of the batch being executed; their memory is used again.
  std::vector<BatchPart> parts_;
  std::shared_ptr<device::GpuWork> work_;  // Of it, on a GPU.
  absl::Status refused_;                   // Why it was not done, on any rank.
  ReductionScratch scratch_;
  // Of the batches of one cycle.
  std::uint64_t planned_cycle_ = 0;
  std::vector<Plans> plans_;
};

}  // namespace hvd::runtime
