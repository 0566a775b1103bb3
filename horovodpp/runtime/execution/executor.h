// SPDX-License-Identifier: Apache-2.0
// The Executor carries out a batch: a few calls of a plane, or a change of
// process sets. Then it reports the outcome to the waiting threads. Driven by
// one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/coordinator/protocol/batch.h"
#include "horovodpp/coordinator/protocol/submission.h"
#include "horovodpp/core/trace/recorder.h"
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
  // The arguments outlive this object. Planes wait under `interrupt`.
  // `recorder` nullptr: calls of planes are not recorded.
  Executor(Planes& planes, SetTable& sets, transport::Interrupt& interrupt,
           trace::Recorder* recorder = nullptr)
      : planes_(planes),
        sets_(sets),
        interrupt_(interrupt),
        recorder_(recorder) {}

  // Executes `batch`; `submissions` belong to its entries that this rank
  // submitted, in order.
  //   Cancelled  the batch was abandoned: nothing was completed, and inputs and
  //              outputs are unchanged; the batch may come again
  //   (errors)   break the job: the peers have executed a batch that this rank
  //              could not. The caller then fails the submissions
  absl::Status execute(
      const coordinator::Batch& batch,
      const std::vector<coordinator::SubmissionPtr>& submissions);

  // Whether the executed batch goes on on a GPU, until complete().
  bool goes_on() const { return work_ != nullptr; }

  // Reports the outcome to the submissions after execute() returned OK. If work
  // continues on a GPU, another thread reports when that work has ended.
  void complete(const coordinator::Batch& batch,
                const std::vector<coordinator::SubmissionPtr>& submissions);

  // Fails the submissions with `why` once no work uses their memory any more.
  void fail(const std::vector<coordinator::SubmissionPtr>& submissions,
            const absl::Status& why);

  // The quick plan of `batch`, which belongs to a cycle and in which all ranks
  // take part; nullptr: there is none. Valid until another cycle is in force.
  QuickPlan* quick_plan_of(const coordinator::Batch& batch);

  // "allreduce of 'a', 'b', 4096 bytes, by shm", for a log.
  std::string describe(const coordinator::Batch& batch);

  // Adds a process set. The sets of the start, the global one among them, are
  // added likewise.
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
  // The plans of a batch of a cycle.
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
  trace::Recorder* const recorder_;
  // The parts of the batch being executed; the vector is reused.
  std::vector<BatchPart> parts_;
  std::shared_ptr<device::GpuWork> work_;  // That batch's work on a GPU.
  absl::Status refused_;                   // Why all ranks refused that batch.
  ReductionScratch scratch_;
  // The plans of one cycle's batches.
  std::uint64_t planned_cycle_ = 0;
  std::vector<Plans> plans_;
};

}  // namespace hvd::runtime
