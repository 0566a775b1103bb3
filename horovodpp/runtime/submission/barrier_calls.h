// SPDX-License-Identifier: Apache-2.0
// The BarrierCalls run this rank's barriers, one after the other in each
// process set. All barriers of a set have one name, so that they can be part of
// a cycle. Only one operation of a name is in flight. Later barriers wait here.
// So this rank's n-th barrier is every rank's n-th.
//
// Operations that end a set's calls, such as a join or the removal of the set,
// wait behind its barriers. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "horovodpp/coordinator/protocol/submission.h"
#include "horovodpp/core/outcome.h"
#include "horovodpp/core/thread/future.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/runtime/execution/set_table.h"
#include "horovodpp/runtime/settings/process_set.h"
#include "horovodpp/runtime/submission/submission_sink.h"

namespace hvd::runtime {

class BarrierCalls {
 public:
  // `sets` outlives this object; `sink` gives access to the sink while it takes
  // submissions.
  BarrierCalls(SetTable& sets, std::weak_ptr<SubmissionSink> sink)
      : sets_(sets), sink_(std::move(sink)) {}
  BarrierCalls(const BarrierCalls&) = delete;
  BarrierCalls& operator=(const BarrierCalls&) = delete;

  // Ready when every rank of the set has called it.
  //   InvalidArgument, FailedPrecondition  see SetTable::admit
  Future<void> begin(const ProcessSet& set);

  // Runs the barrier and waits. nullopt, without any effect, if there is other
  // work.
  std::optional<Status> run_at_once(const ProcessSet& set);

  // Submits `submission` once no barrier of the set `id` waits here.
  void submit_behind(coordinator::ProcessSetId id,
                     const coordinator::SubmissionPtr& submission);

 private:
  class Line;

  std::shared_ptr<Line> line_of(const ProcessSet& set);

  SetTable& sets_;
  const std::weak_ptr<SubmissionSink> sink_;
  Mutex mutex_;
  absl::flat_hash_map<coordinator::ProcessSetId, std::shared_ptr<Line>> lines_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::runtime
