// SPDX-License-Identifier: Apache-2.0
// The job of this process, under Horovod's names:
//
//   #include <horovodpp/horovodpp.h>
//
//   int main() {
//     hvd::throw_if_error(hvd::init());
//     float x = static_cast<float>(hvd::rank());
//     hvd::throw_if_error(hvd::allreduce_(hvd::TensorView::of(&x, {1})));
//   }
//
// A thin layer over one current Runtime: the process's, or, in a thread that
// holds a ThreadRuntime, that thread's. Its collectives are in
// global_collectives.h. The functions that return a number throw hvd::Error
// (FailedPrecondition) where there is no job, before init() and after
// shutdown().
//
// Thread-safe.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <memory>

#include "horovodpp/core/error.h"
#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"
#include "horovodpp/core/version.h"

namespace HVD_EXPORT hvd {

struct Config;
class Runtime;

// Enters the job this process was started in; with no launcher, a job of one.
// OK, and nothing done, if it is in one already. A process that exits leaves by
// itself: with code 0 as by shutdown(), else by telling every rank that it
// failed. After shutdown() it may be called again.
// `headers` are those that the program was compiled with, which it does not say
// itself.
//   FailedPrecondition  this process was forked off one that is in a job, in
//                       which it has no part, and which it cannot leave. Or the
//                       headers are not those of the library (see version.h)
//   (others)            as Runtime::start and Config::from_env
Status init(Headers headers = Headers(HVD_VERSION));
Status init(const Config& config, Headers headers = Headers(HVD_VERSION));

// Leaves the job, that of this thread where it holds a ThreadRuntime; see
// Runtime::stop. OK if there is none.
Status shutdown();

// Goes on without the ranks that are lost, after the job broke: the survivors'
// job takes the place of this process's. Every survivor calls it; afterwards
// rank(), size() and so on are those of the new job. Nothing carries over: no
// names, nothing in flight, and no process sets, which have to be added anew
// (an old one is refused). If it fails the broken job stays the current one.
//   FailedPrecondition  there is no job, or it is not broken; or this thread
//                       holds a ThreadRuntime, whose owner re-forms it
//   Cancelled           shutdown() was called meanwhile
//   (others)            as Runtime::reform
Status reform();

// Whether this process is in a job; false in a forked child, where rank() and so
// on still tell its parent's place.
bool is_initialized();

int rank();             // Of this process in the job.
int size();             // Ranks in the job.
int local_rank();       // Of this process on its node.
int local_size();       // Ranks on this node.
int cross_rank();       // Of this node among the nodes with such a local rank.
int cross_size();       // Nodes with such a local rank.
bool is_homogeneous();  // Whether all nodes hold equally many ranks.

// Whether jobs can run over MPI: whether the module that speaks it is there and can be
// loaded. Without it ranks of one host find each other by horovodrun --no-mpi.
bool mpi_built();

// The current Runtime; throws where there is none. Valid until
// shutdown() or reform(), in whichever thread: for programs in which no other
// thread calls those.
Runtime& current_runtime();

// The same, kept alive while it is held; FailedPrecondition where there is none.
// For programs whose threads do not wait for each other before shutdown().
StatusOr<std::shared_ptr<Runtime>> find_runtime();

// Makes `runtime` the current one of this thread while in scope: for programs
// whose ranks are threads (run_ranks() does it for them). init() then finds it
// started, and shutdown() leaves it.
class ThreadRuntime {
 public:
  explicit ThreadRuntime(std::shared_ptr<Runtime> runtime);
  // `runtime` outlives what is made while in scope.
  explicit ThreadRuntime(Runtime& runtime);
  ~ThreadRuntime();
  ThreadRuntime(const ThreadRuntime&) = delete;
  ThreadRuntime& operator=(const ThreadRuntime&) = delete;

 private:
  struct Scope;
  std::unique_ptr<Scope> scope_;
};

}  // namespace hvd
