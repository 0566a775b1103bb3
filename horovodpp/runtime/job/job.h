// SPDX-License-Identifier: Apache-2.0
// A Job owns and connects the parts of one Runtime: wires, shared memory,
// coordinator, planes, and the thread that drives them.
//
// Thread-safe, as Runtime.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/arena/arena.h"
#include "horovodpp/collective/arena/map.h"
#include "horovodpp/collective/board/board.h"
#include "horovodpp/collective/nccl/session.h"
#include "horovodpp/collective/shm/crossovers.h"
#include "horovodpp/coordinator/coordinator.h"
#include "horovodpp/coordinator/protocol/node_board.h"
#include "horovodpp/coordinator/tensor_queue.h"
#include "horovodpp/core/job/creator_process.h"
#include "horovodpp/core/job/topology.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/core/thread/promise.h"
#include "horovodpp/runtime/channels/activity.h"
#include "horovodpp/runtime/channels/launcher_channel.h"
#include "horovodpp/runtime/channels/report_channel.h"
#include "horovodpp/runtime/execution/executor.h"
#include "horovodpp/runtime/execution/planes.h"
#include "horovodpp/runtime/execution/set_table.h"
#include "horovodpp/runtime/job/job_tuning.h"
#include "horovodpp/runtime/job/node_layout.h"
#include "horovodpp/runtime/progress/call_watch.h"
#include "horovodpp/runtime/progress/failure_monitor.h"
#include "horovodpp/runtime/progress/message_router.h"
#include "horovodpp/runtime/progress/progress.h"
#include "horovodpp/runtime/settings/config.h"
#include "horovodpp/runtime/settings/timeline_options.h"
#include "horovodpp/runtime/submission/submission_sink.h"
#include "horovodpp/telemetry/log.h"
#include "horovodpp/telemetry/metrics/metric.h"
#include "horovodpp/telemetry/metrics/rank_metrics.h"
#include "horovodpp/telemetry/steps/step_watch.h"
#include "horovodpp/telemetry/timeline/timeline.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/node/liveness_locks.h"
#include "horovodpp/transport/node/mail.h"
#include "horovodpp/transport/node/segment.h"

namespace hvd::runtime {

class Job : public SubmissionSink {
 public:
  // See Runtime::start.
  static absl::StatusOr<std::unique_ptr<Job>> start(
      const Config& config, std::unique_ptr<transport::Communicator> wires);
  // Passes from one job of the rank to the next: memory that the rank's tensors
  // can lie in, its trace, and its metrics.
  struct Kept {
    std::shared_ptr<Arena> host;
    std::shared_ptr<collective::NcclArena> gpus;
    std::shared_ptr<telemetry::RankTrace> trace;
    std::shared_ptr<telemetry::RankMetrics> metrics;
  };
  // Starts a job with what an earlier job of this rank has kept.
  static absl::StatusOr<std::unique_ptr<Job>> start(
      const Config& config, std::unique_ptr<transport::Communicator> wires,
      Kept kept);

  ~Job() override;

  // See Runtime::stop.
  absl::Status stop();

  // See Runtime::abort. Has no effect once this rank has left: its peers are
  // about to leave, too.
  void abort(const std::string& why);

  // See Runtime::status.
  absl::Status status() const;
  const Topology& topology() const { return topology_; }

  // Whether this process was forked from the process that started the job. Such
  // a child has no part in the job: its submissions and waits fail with
  // FailedPrecondition, and stop() only returns that error.
  bool is_of_a_parent() const { return !home_.is_here(); }

  void submit(const coordinator::SubmissionPtr& submission) override;
  void submit_for_another(
      const coordinator::SubmissionPtr& submission) override;
  // Drives the job on this thread until `ready`, unless `ready` is nullptr or
  // another thread drives. A callback runs on the driving thread: its
  // submission fails, because no other thread would execute it.
  void wait_for(const coordinator::SubmissionPtr& submission,
                const Ready& ready) override;
  Quick try_at_once(const coordinator::SubmissionPtr& submission,
                    const std::function<void()>& begun) override;
  void expect_more(coordinator::Submission& submission) override {
    if (!is_of_a_parent()) queue_.keep_name(submission);
  }
  void expect_no_more(coordinator::Submission& submission) override {
    if (submission.name != nullptr && !is_of_a_parent()) {
      queue_.drop_name(submission);
    }
  }
  void callback_threw(const std::string& what) override;
  std::string explain(const coordinator::SubmissionPtr& submission) override;

  // Destroys the graph before the connections that it may use.
  void keep_captured(const std::shared_ptr<device::CudaGraph>& graph) {
    nccl_.graphs()->add(graph);
  }

  SetTable& sets() { return sets_; }
  const SetTable& sets() const { return sets_; }
  telemetry::Log& log() { return log_; }
  // See Runtime::start_timeline.
  absl::Status start_timeline(const std::string& path, TimelineOptions options);
  absl::Status stop_timeline();
  void mark_step() {
    if (!is_of_a_parent()) {
      trace_->recorder().write(trace::EventKind::kStepEnds, {});
    }
  }
  // See Runtime::metrics.
  absl::StatusOr<std::vector<Metric>> metrics();
  std::shared_ptr<trace::Recorder> recorder() const {
    return trace_->shared_recorder();
  }
  const std::shared_ptr<Arena>& arena() const { return arena_; }
  std::size_t staging_bytes() const { return layout_.bytes(); }
  Kept kept() const { return {arena_, nccl_.arena(), trace_, metrics_}; }
  // See Runtime::allocate_on(); on a GPU.
  absl::StatusOr<std::shared_ptr<std::byte>> allocate_on(int gpu,
                                                         std::size_t bytes) {
    return nccl_.allocate(gpu, bytes);
  }

  // The connections between the ranks, which live as long as the job. Once the
  // job has stopped, another owner may use them.
  transport::Communicator& wires() { return *wires_; }

 private:
  // This rank's place among the user's nodes, and among groups that share
  // memory.
  struct Places {
    Topology topology;
    Topology sharing;
  };

  Job(const Config& config, Places places,
      std::unique_ptr<transport::Communicator> wires,
      std::unique_ptr<transport::NodeSegment> segment, Kept kept);
  absl::Status add_first_sets(const Config& config);
  absl::Status launch(const Config& config);
  std::string meeting(const Config& config) const;
  void log_start(const Config& config);
  void watch_steps(const Config& config);
  // Watches for the other ranks' deaths, until the job has ended.
  void watch_peers();
  void note_lost(int rank, const std::string& how);
  void ignore_peers();
  void warn(const Config& config);  // Logs what users should know.
  void submit(const coordinator::SubmissionPtr& submission, bool waits_at_once);
  void note_wait(const coordinator::Submission& submission);  // In the trace.
  void refuse_to_wait(const coordinator::SubmissionPtr& submission);
  // Wakes the thread that drives this rank's part.
  void ring();
  // Runs on the loop's thread before the loop.
  absl::Status prepare_here(const Config& config);
  absl::Status prepare(const Config& config);
  void run_here();  // Runs the loop.
  collective::NcclSession::Options nccl_options(
      const Config& config, std::shared_ptr<collective::NcclArena> arena);
  collective::NcclWatch::Job nccl_job(const Config& config);
  collective::GpuTimeouts gpu_timeouts(const Config& config);
  absl::Status watch_calls(std::chrono::nanoseconds timeout);
  // Ends the process: the loop's thread is caught in `call`, from which it
  // cannot be freed.
  [[noreturn]] void end_caught(const std::string& call);
  absl::Status learn_crossovers(const Config& config);

  // Members refer to earlier members, so the order matters.
  const Topology topology_;
  const CreatorProcess home_;
  const Topology sharing_;
  const telemetry::Log::Options log_options_;
  telemetry::Log log_;
  const LauncherChannel launcher_;
  std::unique_ptr<transport::Communicator> wires_;
  std::unique_ptr<transport::NodeSegment> segment_;
  const NodeLayout layout_;
  FailureMonitor monitor_;
  transport::NodeMail node_mail_;
  transport::NodeMail messages_mail_;
  MessageRouter router_;
  coordinator::SharedBoard board_;
  JobTuning tuning_;
  coordinator::Coordinator coordinator_;
  const std::shared_ptr<telemetry::RankTrace> trace_;
  const std::shared_ptr<telemetry::RankMetrics> metrics_;
  coordinator::TensorQueue queue_;
  const std::shared_ptr<Arena> arena_;
  collective::ArenaMap arenas_;
  // The node's crossovers: read from the cache on local rank 0, or measured.
  std::optional<collective::ShmCrossovers> crossovers_;
  collective::ShmBoard plane_board_;
  collective::NcclSession nccl_;
  Planes planes_;
  SetTable sets_;
  Executor executor_;
  Messenger messenger_;
  std::optional<Activity> activity_;  // With horovodrun --watch.
  QuestionChannel questions_;
  std::optional<ReportChannel> reports_;  // With HOROVODPP_SUMMARY_STEPS.
  Progress progress_;

  Mutex stop_mutex_;
  std::thread thread_ ABSL_GUARDED_BY(stop_mutex_);
  absl::Status end_ ABSL_GUARDED_BY(stop_mutex_);
  std::atomic<bool> has_left_{false};
  absl::Status loop_result_;  // For the loop's thread until it is joined.
  std::optional<CallWatch> call_watch_;
  std::optional<ActivityReporter> activity_reporter_;
  std::unique_ptr<telemetry::StepWatch> step_watch_;  // With reports_.
  std::optional<transport::LivenessLocks> liveness_locks_;
};

}  // namespace hvd::runtime
