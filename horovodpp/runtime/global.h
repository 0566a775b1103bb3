// SPDX-License-Identifier: Apache-2.0
// The job of this process, with Horovod's function names:
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
// global_collectives.h. Functions that return a number throw hvd::Error
// (FailedPrecondition) without a job, that is before init() and after
// shutdown().
//
// Thread-safe.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <memory>
#include <string>
#include <vector>

#include "horovodpp/core/error.h"
#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"
#include "horovodpp/core/version.h"
#include "horovodpp/runtime/settings/timeline_options.h"
#include "horovodpp/telemetry/metrics/metric.h"

namespace HVD_EXPORT hvd {

struct Config;
class Runtime;

// Enters the job that this process was started in; without a launcher, a job of
// one rank. Returns OK and does nothing if the process is in a job. At exit the
// process leaves by itself: with code 0 as by shutdown(), with another code by
// telling every rank that it failed. You may call init() again after
// shutdown(). `headers` is the version of the headers that the program was
// compiled with: do not pass it.
//   FailedPrecondition  this process was forked from one that is in a job,
//                       which it can neither use nor leave. Or the headers do
//                       not match the library (see version.h)
//   (others)            as Runtime::start and Config::from_env
Status init(Headers headers = Headers(HVD_VERSION));
Status init(const Config& config, Headers headers = Headers(HVD_VERSION));

// Leaves the job, or this thread's job if it holds a ThreadRuntime; see
// Runtime::stop. OK without a job.
Status shutdown();

// Goes on without the lost ranks after the job broke: the survivors' job
// replaces this process's. Every survivor calls it. Afterwards rank(), size()
// and so on describe the new job. Names, operations in flight and process sets
// do not carry over. Add process sets again; the new job refuses the old ones.
// On failure the broken job stays the current one.
//   FailedPrecondition  there is no job, or it is not broken; or this thread
//                       holds a ThreadRuntime, whose owner re-forms it
//   Cancelled           shutdown() was called meanwhile
//   (others)            as Runtime::reform
Status reform();

// In an elastic job (horovodrun --max-np or --spares): the number of waiting
// processes that grow() would take, on rank 0; see Runtime::waiting_newcomers.
int waiting_newcomers();

// Goes on with the newcomers that wait: the grown job replaces this process's.
// Every rank calls it, with no operation in flight. As after reform(), names
// and process sets do not carry over. On failure the job stays the current one.
//   FailedPrecondition  there is no job; or this thread holds a ThreadRuntime,
//                       whose owner grows it
//   Cancelled           shutdown() was called meanwhile
//   (others)            as Runtime::grow
Status grow();

// Writes this rank's operations to a file; see Runtime::start_timeline. Call it
// on every rank. HOROVOD_TIMELINE=FILE does so from init() on.
//   FailedPrecondition  there is no job
Status start_timeline(const std::string& path, TimelineOptions options = {});
Status stop_timeline();

// Says that a training step of this rank has ended; see Runtime::mark_step.
//   FailedPrecondition  there is no job
Status mark_step();

// This rank's metrics; see Runtime::metrics.
//   FailedPrecondition  there is no job
StatusOr<std::vector<Metric>> metrics();

// Whether this process is in a job. False in a forked child, where rank() and
// so on still return its parent's values.
bool is_initialized();

int rank();        // This process's rank in the job.
int size();        // Ranks in the job.
int local_rank();  // This process's rank on its node.
int local_size();  // Ranks on this node.
int cross_rank();  // This node's index among the nodes with such a local rank.
int cross_size();  // Nodes with such a local rank.
bool is_homogeneous();  // Whether all nodes hold equally many ranks.

// Whether the MPI module is installed and can be loaded, so that jobs can run
// over MPI. Without it, horovodrun --no-mpi connects the ranks of one host.
bool mpi_built();

// The current Runtime; throws if there is none. The reference is valid until
// any thread calls shutdown() or reform(): use this function only where no
// other thread calls them.
Runtime& current_runtime();

// The current Runtime, kept alive by the returned pointer; FailedPrecondition
// if there is none. For programs in which threads may use the job while another
// thread calls shutdown().
StatusOr<std::shared_ptr<Runtime>> find_runtime();

// Makes `runtime` the current one of this thread while in scope, for programs
// whose ranks are threads. run_ranks() does so for its threads. In such a
// thread init() finds the job started, and shutdown() leaves it.
class ThreadRuntime {
 public:
  explicit ThreadRuntime(std::shared_ptr<Runtime> runtime);
  // `runtime` must outlive objects that are created in scope.
  explicit ThreadRuntime(Runtime& runtime);
  ~ThreadRuntime();
  ThreadRuntime(const ThreadRuntime&) = delete;
  ThreadRuntime& operator=(const ThreadRuntime&) = delete;

 private:
  struct Scope;
  std::unique_ptr<Scope> scope_;
};

}  // namespace hvd
