// SPDX-License-Identifier: Apache-2.0
// The BarrierCalls are the barriers that this rank has called, of each process set
// one after the other: all of a set have one name, so that they can be part of a
// cycle, and a name is in flight once at a time. Those behind the first wait here.
// So the n-th of this rank is the n-th of every rank.
//
// What ends a set's calls, as a join, or the removal of the set, waits behind them.
// Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "horovodpp/coordinator/submission.h"
#include "horovodpp/core/future.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/core/outcome.h"
#include "horovodpp/runtime/execution/set_table.h"
#include "horovodpp/runtime/settings/process_set.h"
#include "horovodpp/runtime/submission/submission_sink.h"

namespace hvd::runtime {

class BarrierCalls {
 public:
  // `sets` outlives this; `sink` opens what takes submissions, while it does.
  BarrierCalls(SetTable& sets, std::weak_ptr<SubmissionSink> sink)
      : sets_(sets), sink_(std::move(sink)) {}
  BarrierCalls(const BarrierCalls&) = delete;
  BarrierCalls& operator=(const BarrierCalls&) = delete;

  // Ready when every rank of the set has called it.
  //   InvalidArgument, FailedPrecondition  see SetTable::admit
  Future<void> begin(const ProcessSet& set);

  // begin(), and waits for the outcome; nullopt, and nothing has happened, where it
  // is not all there is to do.
  std::optional<Status> run_at_once(const ProcessSet& set);

  // Submits `submission` once no barrier of the set `id` waits here any more.
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
