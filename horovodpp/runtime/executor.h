// The Executor carries a batch out: one call of a plane, then the outcome to
// whoever waits. Driven by one thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/data_plane.h"
#include "horovodpp/collective/plane_selector.h"
#include "horovodpp/coordinator/negotiator.h"
#include "horovodpp/coordinator/tensor_queue.h"
#include "horovodpp/core/topology.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::runtime {

class Executor {
 public:
  // The planes connect all ranks of `topology`; `epoch` goes into the tags of
  // their calls.
  Executor(collective::PlaneSelector& planes, transport::Watch& watch,
           const Topology& topology, std::uint32_t epoch)
      : planes_(planes), watch_(watch), topology_(topology), epoch_(epoch) {}

  // Executes `batch` with its submissions and completes them. An error breaks
  // the job: the peers have executed what this rank could not. The submissions
  // are then failed with it by whoever reports it.
  absl::Status run(const coordinator::Batch& batch,
                   std::vector<coordinator::Submission>& submissions);

 private:
  absl::Status allreduce(
      const coordinator::Request& request,
      const std::vector<coordinator::Submission>& submissions);
  absl::Status allgather(coordinator::Submission& submission);
  absl::Status broadcast(const coordinator::Submission& submission);
  collective::Call next_call() { return {{epoch_, sequence_++}, watch_}; }

  collective::PlaneSelector& planes_;
  transport::Watch& watch_;
  const Topology& topology_;
  const std::uint32_t epoch_;
  std::uint32_t sequence_ = 0;
};

}  // namespace hvd::runtime
