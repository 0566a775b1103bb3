// SPDX-License-Identifier: Apache-2.0
// A Runtime is one rank's place in a job: its rank, its peers, and the
// background thread that agrees with them on what to reduce next.
//
//   auto runtime = hvd::Runtime::start(*hvd::Config::from_env());
//   if (!runtime.ok()) return runtime.status();
//   hvd::Future<void> done =
//       (*runtime)->allreduce_async_(grad, {.name = "fc1.weight"});
//   ...                                       // backward carries on meanwhile
//   hvd::Status status = done.wait();         // if OK, grad is the mean
//
// Collectives are matched across ranks by name, within a process set: ranks may
// submit in different orders, but they must submit the same names. A call
// without a name is numbered per operation and process set in call order; ranks
// must then make those calls in the same order. A name trailing in _ works in
// place. A group is one submission of several tensors, which may differ in
// dtype: it arrives whole, and its future is of all of them.
//
// Memory that is passed in is borrowed until the future is ready. The end of the
// last copy of a future waits for that, unless a callback (then) hears of it: what
// is borrowed is never left behind. Memory that others may free meanwhile, as
// frameworks do with temporaries, is handed over with its owner: with
//   job.allreduce_async_(view, {.name = "w", .keep_alive = std::move(owner)})
// nobody has to wait. A callback runs on the thread that executes what is in
// flight: where it waits for that, or drops its future, it breaks the job.
//
// Errors, of every collective, through its future:
//   InvalidArgument     the ranks disagree (all of them get this, and the job
//                       goes on), or the arguments make no sense, or this rank
//                       is not in the process set
//   AlreadyExists       a tensor of this name is in flight on this rank
//   FailedPrecondition  this rank has joined the process set, or has shut down
//   Unimplemented       no plane of this build reaches the memory
//   Cancelled           a rank shut down first
//   Aborted             the job is broken; says by whom and why, the same on
//                       all ranks
//
// Thread-safe: any thread may submit. Runtimes are independent of each other,
// so a test can hold eight ranks in one process.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/core/buffer.h"
#include "horovodpp/core/export.h"
#include "horovodpp/core/future.h"
#include "horovodpp/core/outcome.h"
#include "horovodpp/core/reduce_op.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/core/topology.h"
#include "horovodpp/runtime/membership.h"
#include "horovodpp/runtime/prepared.h"
#include "horovodpp/runtime/settings/options.h"
#include "horovodpp/runtime/settings/process_set.h"

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
namespace transport {
class Communicator;
}
namespace runtime {
template <typename T>
class Door;
class Job;
class Recovery;
class SetTable;
class Submitter;
}  // namespace runtime

class Runtime {
 public:
  // Enters the job that `config` describes; returns once every rank has. What
  // the launcher started becomes an MPI job, any other process a job of one.
  //   DeadlineExceeded    a rank did not arrive within config.start_timeout
  //   InvalidArgument     the ranks' configurations disagree
  //   FailedPrecondition  see transport::make_mpi_communicator
  static StatusOr<std::unique_ptr<Runtime>> start(const Config& config);

  // The same over wires of the caller's, for instance
  // transport::LoopbackWorld's.
  static StatusOr<std::unique_ptr<Runtime>> start(
      const Config& config,
      std::unique_ptr<transport::Communicator> communicator);

  // Leaves the job; returns once every rank has. What is complete on every rank
  // is still executed, everything else in flight fails with Cancelled. Callable
  // again.
  //   Aborted             the job was broken before; says why
  //   FailedPrecondition  called by a callback of a future; nothing was done
  Status stop();

  // Breaks the job, on every rank, because this one cannot go on: everything in
  // flight fails with Aborted and "rank 1 (host 'a', pid 4711) <why>". Does not
  // wait.
  void abort(const std::string& why);

  // Stops, too, but has nobody to tell of an error.
  ~Runtime();

  const Topology& topology() const;

  // OK, or Aborted with the reason why the job is broken; FailedPrecondition in a
  // child that was forked off the process that started the job.
  Status status() const;

  // Memory whose tensors are reduced without a copy among the ranks of a node;
  // see Arena. It goes on with reform().
  const std::shared_ptr<Arena>& arena() const;

  // Memory in the arena, or, on a GPU, such as arena_alloc_on() gives
  // (runtime/arena_alloc.h); it may outlive this.
  //   (errors)  as arena_alloc_on()
  StatusOr<std::shared_ptr<void>> allocate_on(const Device& device,
                                              std::size_t bytes);

  // Where this rank says what it has to (telemetry/log.h).
  telemetry::Log& log() const;

  // For objects that may outlive this Runtime.
  Membership membership() const;

  // Replaces `tensor`, on every rank of the set, by its reduction over them.
  Future<void> allreduce_async_(TensorView tensor,
                                AllreduceOptions options = {});
  // The same, and waits for it, which costs less than to wait for the future.
  Status allreduce_(TensorView tensor, AllreduceOptions options = {});
  Future<void> grouped_allreduce_async_(std::vector<TensorView> tensors,
                                        AllreduceOptions options = {});

  // The same into memory of its own.
  Future<Buffer> allreduce_async(ConstTensorView tensor,
                                 AllreduceOptions options = {});
  Future<std::vector<Buffer>> grouped_allreduce_async(
      const std::vector<ConstTensorView>& tensors,
      AllreduceOptions options = {});

  // The same, and those below whose results go into the caller's memory, for more
  // than one time. They need a name.
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
  // They may differ in the first dimension; a scalar has none and is refused.
  Future<Buffer> allgather_async(ConstTensorView tensor,
                                 AllgatherOptions options = {});
  Future<std::vector<Buffer>> grouped_allgather_async(
      const std::vector<ConstTensorView>& tensors,
      AllgatherOptions options = {});
  // The same into `result`, which has the shape of all rows together: where it has
  // not, that rank gets InvalidArgument, and the others what they asked for.
  Future<void> allgather_into_async(ConstTensorView tensor, TensorView result,
                                    AllgatherOptions options = {});
  StatusOr<Prepared> prepare_allgather(ConstTensorView tensor,
                                       TensorView result,
                                       AllgatherOptions options);

  // Replaces `tensor` by that of rank `root_rank`, which is a rank of the job,
  // also with a process set.
  Future<void> broadcast_async_(TensorView tensor, int root_rank,
                                BroadcastOptions options = {});
  Future<Buffer> broadcast_async(ConstTensorView tensor, int root_rank,
                                 BroadcastOptions options = {});

  // Sends each rank of the set its rows of `tensor`, and receives those that
  // the ranks send here. Tensors may differ in the first dimension.
  Future<AlltoallResult> alltoall_async(ConstTensorView tensor,
                                        AlltoallOptions options = {});
  // The same into `result`, as allgather_into_async; the rows that came from each
  // rank.
  Future<std::vector<std::int64_t>> alltoall_into_async(
      ConstTensorView tensor, TensorView result, AlltoallOptions options = {});
  StatusOr<Prepared> prepare_alltoall(ConstTensorView tensor, TensorView result,
                                      AlltoallOptions options);

  // Reduces `tensor` over the ranks of the set and leaves each its part of the
  // rows: of d rows the r-th of n ranks gets d / n, and one more if r < d % n.
  Future<Buffer> reducescatter_async(ConstTensorView tensor,
                                     ReducescatterOptions options = {});
  Future<std::vector<Buffer>> grouped_reducescatter_async(
      const std::vector<ConstTensorView>& tensors,
      ReducescatterOptions options = {});
  // The same into `result`, which has the shape of this rank's part.
  Future<void> reducescatter_into_async(ConstTensorView tensor,
                                        TensorView result,
                                        ReducescatterOptions options = {});
  StatusOr<Prepared> prepare_reducescatter(ConstTensorView tensor,
                                           TensorView result,
                                           ReducescatterOptions options);

  // Ready when every rank of the set has called it.
  Future<void> barrier_async(const ProcessSet& set = ProcessSet::global());
  // The same, and waits for it, which costs less than to wait for the future.
  Status barrier(const ProcessSet& set = ProcessSet::global());

  // This rank has no more tensors for the set. Until all its ranks have joined
  // it takes part in what the others do there, unasked: with the neutral value
  // in reductions, no rows in an allgather, and as a receiver of broadcasts.
  // What cannot be without it (an alltoall, a broadcast from it) fails on the
  // others. Ready when every rank of the set has joined; the value is the rank
  // that did last.
  Future<int> join_async(const ProcessSet& set = ProcessSet::global());

  // Makes a process set of `ranks`; ready when it can be used. Every rank of
  // the job calls it, members or not.
  //   AlreadyExists  there is a set of these ranks
  Future<ProcessSet> add_process_set_async(std::vector<int> ranks);
  // Ends it. Every rank of the job calls it, members or not. What is in flight
  // in it and not complete on its ranks fails.
  Future<void> remove_process_set_async(const ProcessSet& set);

  // All sets with their ranks, by number; the global one is the first.
  std::vector<ProcessSet> process_sets() const;
  // The members, ascending.
  //   InvalidArgument  there is no such set, or none any more
  StatusOr<std::vector<int>> ranks_of(const ProcessSet& set) const;
  // The place of this rank among them.
  //   InvalidArgument  it is none of them, or there is no such set
  StatusOr<int> rank_in(const ProcessSet& set) const;

  // Goes on without the ranks that are lost: ends this job, which is broken,
  // and returns one of its survivors, numbered anew from 0 in the old order.
  // Every survivor calls it; returns once all have, and have agreed who is
  // left. Nothing else of the old job carries over: no names, nothing in flight,
  // and no process sets, as ranks have new numbers; the log names those that are
  // gone. If all ranks live (the cause was abort()) all go on.
  //   FailedPrecondition  the job is not broken, or has been re-formed already
  //   DeadlineExceeded    the survivors did not agree, or not begin, within
  //                       Config::start_timeout
  //   Aborted             ranks are silent, and may live: those that are left
  //                       are not a majority, and stop
  StatusOr<std::unique_ptr<Runtime>> reform();

 private:
  friend class CapturedStep;
  // What is captured goes with the job, at the latest.
  void keep_captured(const std::shared_ptr<device::CudaGraph>& graph);
  Future<void> replay(const CaptureOptions& options,
                      std::shared_ptr<const device::CudaGraph> graph);

  Runtime(std::shared_ptr<runtime::Recovery> recovery,
          std::shared_ptr<runtime::Job> job);
  static StatusOr<Prepared> prepared(
      StatusOr<std::unique_ptr<runtime::PreparedCall>> call);

  std::shared_ptr<runtime::Recovery> recovery_;  // Outlives its jobs.
  std::shared_ptr<runtime::Job> job_;
  runtime::SetTable& sets_;  // The job's.
  std::unique_ptr<runtime::Submitter> submitter_;
  std::unique_ptr<runtime::Door<Runtime>> door_;
};

}  // namespace hvd
