// A Runtime is one rank's place in a job: its rank, its peers, and the
// background thread that agrees with them on what to reduce next.
//
//   auto runtime = hvd::Runtime::start(*hvd::Config::from_env());
//   if (!runtime.ok()) return runtime.status();
//   hvd::Future<void> done =
//       (*runtime)->allreduce_async_(grad, {.name = "fc1.weight"});
//   ...                                       // backward carries on meanwhile
//   absl::Status status = done.wait();        // if OK, grad is the mean
//
// Collectives are matched across ranks by name: ranks may submit in different
// orders, but they must submit the same names. A call without a name is
// numbered per operation in call order; ranks must then make those calls in the
// same order. A name trailing in _ works in place.
//
// Errors, of every collective, through its future:
//   InvalidArgument  the ranks disagree (all of them get this, and the job
//                    goes on), or the arguments mean nothing
//   AlreadyExists    a tensor of this name is in flight on this rank
//   Cancelled        a rank shut down first
//   Aborted          the job is broken; says by whom and why, the same on all
//                    ranks
//
// Thread-safe: any thread may submit. Runtimes are independent of each other,
// so a test can hold eight ranks in one process.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "horovodpp/core/buffer.h"
#include "horovodpp/core/future.h"
#include "horovodpp/core/reduce_op.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/core/topology.h"
#include "horovodpp/runtime/config.h"

namespace hvd {

namespace transport {
class Communicator;
}
namespace runtime {
class Job;
}

struct AllreduceOptions {
  std::string name = {};  // Equal on all ranks. Empty: numbered in call order.
  ReduceOp op = ReduceOp::kAverage;
  double prescale_factor = 1.0;   // Applied before the reduction,
  double postscale_factor = 1.0;  // and after it.
};

struct AllgatherOptions {
  std::string name = {};
};

struct BroadcastOptions {
  std::string name = {};
};

class Runtime {
 public:
  // Enters the job that `config` describes; returns once every rank has. What
  // the launcher started becomes an MPI job, any other process a job of one.
  //   DeadlineExceeded    a rank did not arrive within config.start_timeout
  //   InvalidArgument     the ranks' configurations disagree
  //   FailedPrecondition  see transport::make_mpi_communicator
  static absl::StatusOr<std::unique_ptr<Runtime>> start(const Config& config);

  // The same over wires of the caller's, for instance
  // transport::LoopbackWorld's.
  static absl::StatusOr<std::unique_ptr<Runtime>> start(
      const Config& config,
      std::unique_ptr<transport::Communicator> communicator);

  // Leaves the job; returns once every rank has. What is complete on every rank
  // is still executed, everything else in flight fails with Cancelled. Callable
  // again.
  //   Aborted             the job was broken before; says why
  //   FailedPrecondition  called by a callback of a future; nothing was done
  absl::Status stop();

  // Breaks the job, on every rank, because this one cannot go on: everything in
  // flight fails with Aborted and "rank 1 (host 'a', pid 4711) <why>". Does not
  // wait.
  void abort(const std::string& why);

  // Stops, too, but has nobody to tell of an error.
  ~Runtime();

  const Topology& topology() const;

  // OK, or Aborted with the reason why the job is broken.
  absl::Status status() const;

  // Replaces `tensor`, on every rank, by its reduction over all ranks. The
  // memory is borrowed until the future is ready.
  Future<void> allreduce_async_(TensorView tensor,
                                AllreduceOptions options = {});

  // The same into memory of its own. `tensor` is borrowed until the future is
  // ready.
  Future<Buffer> allreduce_async(ConstTensorView tensor,
                                 AllreduceOptions options = {});

  // Concatenates the ranks' tensors along the first dimension, in rank order.
  // They may differ in the first dimension; a scalar has none and is refused.
  Future<Buffer> allgather_async(ConstTensorView tensor,
                                 AllgatherOptions options = {});

  // Replaces `tensor` by that of rank `root_rank`.
  Future<void> broadcast_async_(TensorView tensor, int root_rank,
                                BroadcastOptions options = {});
  Future<Buffer> broadcast_async(ConstTensorView tensor, int root_rank,
                                 BroadcastOptions options = {});

  // Ready when every rank has called it.
  Future<void> barrier_async();

 private:
  explicit Runtime(std::unique_ptr<runtime::Job> job);
  std::unique_ptr<runtime::Job> job_;
};

}  // namespace hvd
