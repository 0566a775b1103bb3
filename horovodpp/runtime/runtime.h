// SPDX-License-Identifier: Apache-2.0
// A Runtime is one rank's place in a job: its rank, its peers, and the
// background thread that agrees with them on the next collective.
//
//   auto runtime = hvd::Runtime::start(*hvd::Config::from_env());
//   if (!runtime.ok()) return runtime.status();
//   hvd::Future<void> done =
//       (*runtime)->allreduce_async_(grad, {.name = "fc1.weight"});
//   ...                                       // backward carries on meanwhile
//   hvd::Status status = done.wait();         // if OK, grad is the mean
//
// Ranks match collectives by name, within a process set. They may submit in
// different orders, but must submit the same names. Calls of one name follow
// each other in call order, also where the first is still in flight. Unnamed
// calls are numbered per operation and process set in call order, so ranks must
// make them in the same order. A function whose name ends in _ works in place.
// A group is one submission of several tensors, possibly of several dtypes. It
// is executed as a whole, and has one future.
//
// Input memory is borrowed until the future is ready. The destructor of a
// future's last copy waits for that, unless a callback (then) is registered. If
// other code may free the memory earlier, as frameworks do with temporaries,
// pass its owner, and no wait is needed:
//   job.allreduce_async_(view, {.name = "w", .keep_alive = std::move(owner)})
// A callback runs on the thread that executes operations in flight. A callback
// that waits for such an operation, or drops its future, breaks the job.
//
// Errors of every collective, through its future:
//   InvalidArgument     the ranks disagree (all ranks get this, and the job
//                       goes on), or an argument is invalid, or this rank is
//                       not in the process set
//   FailedPrecondition  this rank has joined the process set, or has shut down
//   Unimplemented       no plane of this build reaches the memory
//   Cancelled           a rank shut down first
//   Aborted             the job is broken; the message names the rank and the
//                       reason, the same on all ranks
//
// Thread-safe: any thread may submit. Runtimes are independent of each other,
// so a test can hold eight ranks in one process.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/core/job/topology.h"
#include "horovodpp/core/memory/buffer.h"
#include "horovodpp/core/outcome.h"
#include "horovodpp/core/reduce_op.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/core/thread/future.h"
#include "horovodpp/runtime/membership.h"
#include "horovodpp/runtime/prepared.h"
#include "horovodpp/runtime/settings/options.h"
#include "horovodpp/runtime/settings/process_set.h"
#include "horovodpp/runtime/settings/timeline_options.h"
#include "horovodpp/telemetry/metrics/metric.h"

namespace HVD_EXPORT hvd {

class Arena;
class CapturedStep;
struct CaptureOptions;
struct Config;
namespace device {
class CudaGraph;
}
namespace telemetry {
class Log;
}
namespace trace {
class Recorder;
}
namespace transport {
class Communicator;
}
namespace runtime {
template <typename T>
class LifetimeGuard;
class Growth;
class Job;
class Recovery;
class SetTable;
class Submitter;
}  // namespace runtime

class Runtime {
 public:
  // Enters the job that `config` describes; returns once every rank has. A
  // process that a launcher started enters an MPI job, any other process a job
  // of one.
  //   DeadlineExceeded    a rank did not arrive within config.start_timeout
  //   InvalidArgument     the ranks' configurations disagree
  //   FailedPrecondition  see transport::make_mpi_communicator
  //   Cancelled           this process was started to join a running job, which
  //                       has ended
  static StatusOr<std::unique_ptr<Runtime>> start(const Config& config);

  // Starts over the caller's wires, for instance transport::LoopbackWorld's.
  static StatusOr<std::unique_ptr<Runtime>> start(
      const Config& config,
      std::unique_ptr<transport::Communicator> communicator);

  // Leaves the job; returns once every rank has. Operations that every rank has
  // submitted are still executed; all others in flight fail with Cancelled.
  // Callable again.
  //   Aborted             the job was broken before; the message says why
  //   FailedPrecondition  called by a callback of a future; has no effect
  Status stop();

  // Breaks the job on every rank, because this rank cannot continue. Operations
  // in flight fail with Aborted and "rank 1 (host 'a', pid 4711) <why>". Does
  // not wait.
  void abort(const std::string& why);

  // Calls stop() and ignores its error.
  ~Runtime();

  const Topology& topology() const;

  // OK, or Aborted with the reason why the job is broken; FailedPrecondition in
  // a child that was forked from the process that started the job.
  Status status() const;

  // The arena: tensors in its memory are reduced without a copy among the ranks
  // of a node. reform() passes it on to the new job.
  const std::shared_ptr<Arena>& arena() const;

  struct Memory {
    std::size_t arena_peak = 0;  // Bytes of the arena in use, at the most.
    // Bytes of shared memory through which the ranks of this node exchange
    // messages, and tensors that are not in the arena.
    std::size_t staging = 0;
  };
  Memory memory() const;

  // Allocates in the arena, or, on a GPU, as arena_alloc_on() does
  // (runtime/arena_alloc.h). The memory may outlive this object.
  //   (errors)  as arena_alloc_on()
  StatusOr<std::shared_ptr<void>> allocate_on(const Device& device,
                                              std::size_t bytes);

  // Writes this rank's operations to `path` from here on, for Perfetto and
  // chrome://tracing; replaces a timeline that is being written. Only rank 0
  // does, unless "{rank}" in the path stands for the rank. A file that cannot
  // be written is a warning in the log, since only one rank would have the
  // error. reform() and grow() pass the timeline on.
  //   FailedPrecondition  in a child that was forked
  Status start_timeline(const std::string& path, TimelineOptions options = {});
  // Writes all events so far and closes the file, if there is one.
  //   FailedPrecondition  likewise
  Status stop_timeline();

  // Says that a training step of this rank has ended, for
  // HOROVODPP_SUMMARY_STEPS. A GradientReducer, and so each optimizer, does so
  // when all gradients are reduced. Without either, a step ends where the next
  // begins, once the order of its collectives is fixed.
  void mark_step();

  // This rank's metrics; docs/observability.md lists them. They count from the
  // start if Config::metrics asks for it, else from the first call.
  //   FailedPrecondition  in a child that was forked
  //   ResourceExhausted   the thread that counts cannot be created
  StatusOr<std::vector<Metric>> metrics();

  // This rank's log (telemetry/log.h).
  telemetry::Log& log() const;
  // This rank's trace (core/trace/recorder.h), which reform() and grow() pass
  // on.
  std::shared_ptr<trace::Recorder> recorder() const;

  // For objects that may outlive this Runtime.
  Membership membership() const;

  // Replaces `tensor`, on every rank of the set, by its reduction over them.
  Future<void> allreduce_async_(TensorView tensor,
                                AllreduceOptions options = {});
  // Reduces likewise and waits, which costs less than to wait for the future.
  Status allreduce_(TensorView tensor, AllreduceOptions options = {});
  Future<void> grouped_allreduce_async_(std::vector<TensorView> tensors,
                                        AllreduceOptions options = {});

  // Returns the reduction in new memory.
  Future<Buffer> allreduce_async(ConstTensorView tensor,
                                 AllreduceOptions options = {});
  Future<std::vector<Buffer>> grouped_allreduce_async(
      const std::vector<ConstTensorView>& tensors,
      AllreduceOptions options = {});

  // Prepares a collective that is repeated with the same memory. The other
  // prepare_* functions likewise take the caller's memory for results. A name
  // is required.
  StatusOr<Prepared> prepare_allreduce_(TensorView tensor,
                                        AllreduceOptions options);
  StatusOr<Prepared> prepare_allreduce(ConstTensorView tensor,
                                       TensorView result,
                                       AllreduceOptions options);
  StatusOr<Prepared> prepare_grouped_allreduce_(
      const std::vector<TensorView>& tensors, AllreduceOptions options);
  StatusOr<Prepared> prepare_broadcast_(TensorView tensor, int root_rank,
                                        BroadcastOptions options);

  // Concatenates the ranks' tensors along the first dimension, in rank order.
  // The first dimension may differ between ranks. A scalar has none and is
  // refused.
  Future<Buffer> allgather_async(ConstTensorView tensor,
                                 AllgatherOptions options = {});
  Future<std::vector<Buffer>> grouped_allgather_async(
      const std::vector<ConstTensorView>& tensors,
      AllgatherOptions options = {});
  // Gathers into `result`, which must have the shape of all rows together. A
  // rank with another shape gets InvalidArgument; the other ranks get their
  // result.
  Future<void> allgather_into_async(ConstTensorView tensor, TensorView result,
                                    AllgatherOptions options = {});
  StatusOr<Prepared> prepare_allgather(ConstTensorView tensor,
                                       TensorView result,
                                       AllgatherOptions options);

  // Replaces `tensor` by that of rank `root_rank`. This is a rank of the job,
  // also with a process set.
  Future<void> broadcast_async_(TensorView tensor, int root_rank,
                                BroadcastOptions options = {});
  Future<Buffer> broadcast_async(ConstTensorView tensor, int root_rank,
                                 BroadcastOptions options = {});

  // Sends each rank of the set its rows of `tensor`, and receives the rows that
  // the ranks send here. Tensors may differ in the first dimension.
  Future<AlltoallResult> alltoall_async(ConstTensorView tensor,
                                        AlltoallOptions options = {});
  // Receives into `result`, as allgather_into_async; returns the number of rows
  // from each rank.
  Future<std::vector<std::int64_t>> alltoall_into_async(
      ConstTensorView tensor, TensorView result, AlltoallOptions options = {});
  StatusOr<Prepared> prepare_alltoall(ConstTensorView tensor, TensorView result,
                                      AlltoallOptions options);

  // Reduces `tensor` over the ranks of the set and leaves each rank its part of
  // the rows. Of d rows the r-th of n ranks gets d / n, and one more if
  // r < d % n.
  Future<Buffer> reducescatter_async(ConstTensorView tensor,
                                     ReducescatterOptions options = {});
  Future<std::vector<Buffer>> grouped_reducescatter_async(
      const std::vector<ConstTensorView>& tensors,
      ReducescatterOptions options = {});
  // Scatters into `result`, which must have the shape of this rank's part.
  Future<void> reducescatter_into_async(ConstTensorView tensor,
                                        TensorView result,
                                        ReducescatterOptions options = {});
  StatusOr<Prepared> prepare_reducescatter(ConstTensorView tensor,
                                           TensorView result,
                                           ReducescatterOptions options);

  // Reduces `tensor` over the ranks of the set for rank `root_rank` alone. This
  // is a rank of the job. In place, the root's tensor is replaced, and the
  // others stay as they are; otherwise the others get an empty Buffer.
  Future<void> reduce_async_(TensorView tensor, int root_rank,
                             ReduceOptions options = {});
  Future<Buffer> reduce_async(ConstTensorView tensor, int root_rank,
                              ReduceOptions options = {});

  // Concatenates the ranks' tensors on rank `root_rank`, as an allgather does.
  // The others get no rows.
  Future<Buffer> gather_async(ConstTensorView tensor, int root_rank,
                              GatherOptions options = {});
  // Sends each rank of the set its rows of the tensor of rank `root_rank`. The
  // tensors of the other ranks give only the shape of a row, and may have no
  // rows.
  Future<Buffer> scatter_async(ConstTensorView tensor, int root_rank,
                               ScatterOptions options = {});

  // Sends `tensor` to rank `to_rank` of the job, a member of the set and
  // perhaps this rank. Ready when that rank has received it. Messages of one
  // sender with one tag are received in the order sent. Sends and receives have
  // no order with the set's collectives. On a GPU: Unimplemented.
  Future<void> send_async(ConstTensorView tensor, int to_rank,
                          MessageOptions options = {});
  // Receives into `tensor` a message of rank `from_rank` of the job, or of any
  // rank if that is kAnySource. Returns the rank that has sent. If the message
  // has another dtype or number of elements, both ranks get InvalidArgument.
  Future<int> receive_async(TensorView tensor, int from_rank,
                            MessageOptions options = {});

  // Ready when every rank of the set has called it.
  Future<void> barrier_async(const ProcessSet& set = ProcessSet::global());
  // Waits likewise, which costs less than to wait for the future.
  Status barrier(const ProcessSet& set = ProcessSet::global());

  // Declares that this rank has no more tensors for the set. Until all ranks of
  // the set have joined it takes part in the others' operations. It brings the
  // neutral value to reductions and no rows to an allgather or gather, and
  // receives broadcasts and scatters. Operations that need it (an alltoall, or
  // with it as the root) fail on the others. Ready when every rank of the set
  // has joined; the value is the rank that joined last.
  Future<int> join_async(const ProcessSet& set = ProcessSet::global());

  // Creates a process set of `ranks`; ready when the set can be used. Every
  // rank of the job calls it, whether or not it is a member.
  //   AlreadyExists  a set of these ranks exists
  Future<ProcessSet> add_process_set_async(std::vector<int> ranks);
  // Removes a set. Every rank of the job calls it, whether or not it is a
  // member. Operations in flight in the set that some rank has not submitted
  // fail.
  Future<void> remove_process_set_async(const ProcessSet& set);

  // Creates a process set of `ranks`, which its members alone call; ready when
  // all of them have. `key` tells apart sets of the same ranks, of which there
  // may be several. Other ranks go on meanwhile, and may create other sets.
  //   InvalidArgument  this rank is not a member
  Future<ProcessSet> new_process_set_async(std::vector<int> ranks,
                                           const std::string& key);
  // Removes a set, however it was created. Its members alone call it.
  Future<void> free_process_set_async(const ProcessSet& set);

  // All sets with their ranks, by number; the global set is the first.
  std::vector<ProcessSet> process_sets() const;
  // The members, in ascending order.
  //   InvalidArgument  no such set, or it was removed
  StatusOr<std::vector<int>> ranks_of(const ProcessSet& set) const;
  // The position of this rank among the members.
  //   InvalidArgument  this rank is not a member, or there is no such set
  StatusOr<int> rank_in(const ProcessSet& set) const;

  // Continues without the lost ranks: ends this broken job and returns a new
  // job of the survivors, numbered from 0 in the old order. Every survivor
  // calls it. It returns once all have called it and agreed on the survivors.
  // Names, operations in flight and process sets do not carry over, because
  // ranks have new numbers; the log names the lost sets. If all ranks live (the
  // cause was abort()) all go on.
  //   FailedPrecondition  the job is not broken, or was re-formed already
  //   DeadlineExceeded    the survivors did not agree, or did not begin, within
  //                       Config::start_timeout
  //   Aborted             ranks are silent, but may live: the remaining ranks
  //                       are not a majority, and stop
  StatusOr<std::unique_ptr<Runtime>> reform();

  // Whether the launcher may add ranks to this job; equal on all ranks.
  bool is_elastic() const;
  // Whether this process has joined a running job.
  bool is_newcomer() const;

  // The number of waiting processes that grow() would take, in an elastic job
  // (horovodrun --max-np or --spares). Rank 0 knows it; other ranks return 0.
  // Does not wait.
  int waiting_newcomers();

  // Goes on with newcomers: admits those that wait, up to the largest number of
  // ranks, ends this job and returns a new one. Ranks keep their numbers, and
  // newcomers follow. Every rank calls it, with no operation in flight; it
  // returns once all have. Names and process sets do not carry over. A newcomer
  // has only its program's own state, so broadcast the job's state to it.
  //   Unavailable  no newcomer waits, or one was lost meanwhile: this job goes
  //                on as before
  //   (errors)     of status(), if this job is broken
  StatusOr<std::unique_ptr<Runtime>> grow();

 private:
  friend class CapturedStep;
  // Destroys the captured graph with the job, or earlier.
  void keep_captured(const std::shared_ptr<device::CudaGraph>& graph);
  Future<void> replay(const CaptureOptions& options,
                      std::shared_ptr<const device::CudaGraph> graph);

  Runtime(std::shared_ptr<runtime::Recovery> recovery,
          std::shared_ptr<runtime::Growth> growth,
          std::shared_ptr<runtime::Job> job);
  static StatusOr<Prepared> prepared(
      StatusOr<std::unique_ptr<runtime::PreparedCall>> call);

  std::shared_ptr<runtime::Recovery> recovery_;  // Outlives its jobs.
  std::shared_ptr<runtime::Growth> growth_;      // Likewise.
  std::shared_ptr<runtime::Job> job_;
  runtime::SetTable& sets_;  // The job's.
  std::unique_ptr<runtime::Submitter> submitter_;
  std::unique_ptr<runtime::LifetimeGuard<Runtime>> lifetime_guard_;
};

}  // namespace hvd
