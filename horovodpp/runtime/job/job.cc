// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/job/job.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/system/process_stat.h"
#include "horovodpp/device/gpus.h"
#include "horovodpp/runtime/execution/gpu_tensors.h"
#include "horovodpp/runtime/progress/heartbeat.h"
#include "horovodpp/runtime/settings/waits_at_once.h"

namespace hvd::runtime {
namespace {

constexpr std::uint32_t kFirstEpoch = 1;

// Time limit for other ranks' GPU work when this rank leaves.
constexpr std::chrono::seconds kNcclCloseTimeout(10);

// The interval of stall checks. They must be frequent enough to shut the job
// down in time, even if warnings come later or never.
std::chrono::nanoseconds first_stall_check(const Config& config) {
  const auto warning = config.stall_warning_time;
  const auto shutdown = config.stall_shutdown_time;
  if (shutdown.count() == 0) return warning;
  return warning.count() == 0 ? shutdown : std::min(warning, shutdown);
}

// Of the clock of `recorder`, which is the more exact the longer the job runs.
double seconds_per_tick(const trace::Recorder& recorder) {
  constexpr double kNanosecond = 1e-9;
  const trace::RingReader reader = recorder.reader();
  const trace::Moment began = reader.began();
  const trace::Moment now = trace::Moment::now(reader.by_counter());
  if (now.ticks <= began.ticks) return kNanosecond;
  return kNanosecond *
         static_cast<double>(now.nanoseconds - began.nanoseconds) /
         static_cast<double>(now.ticks - began.ticks);
}

coordinator::Coordinator::Options coordinator_options(
    const Config& config, const Topology& topology, const Topology& sharing,
    JobTuning& tuning, std::shared_ptr<trace::Recorder> recorder) {
  return {.rank = sharing.rank(),
          .tree = coordinator::Tree::of(sharing),
          .epoch = kFirstEpoch,
          .process_sets = config.process_sets,
          .cache_capacity = config.cache_capacity,
          .fusion_threshold = config.fusion_threshold,
          .hold_back = config.cycle_time,
          .fuse_groups = config.fuse_groups,
          .steps_before_schedule = config.steps_before_schedule,
          .strict_join = config.strict_join,
          .stall_warning = first_stall_check(config),
          .stall_shutdown = config.stall_shutdown_time,
          .describe = [&](int rank) { return topology.describe(rank); },
          .explain_silence =
              [&](int rank) {
                return explain_silent_process(topology.peer(rank).pid);
              },
          .tuning_steps = tuning.steps(),
          .tuning = topology.rank() == 0 ? tuning.options()
                                         : coordinator::Tuner::Options(),
          .seconds_per_tick =
              [recorder = std::move(recorder)] {
                return seconds_per_tick(*recorder);
              }};
}

// Leaders wait a second or two for the ranks below them.
constexpr std::chrono::seconds kAnswerTimeout(3);

// The time after which a rank gives up a wait for its GPU. It is shorter than
// the job's limit: this rank knows the cause, and reports it before the others
// give up for want of its part.
std::chrono::nanoseconds shutdown_on_gpu(const Config& config) {
  constexpr std::chrono::nanoseconds kAhead = std::chrono::seconds(10);
  return config.stall_shutdown_time -
         std::min(config.stall_shutdown_time / 2, kAhead);
}

// Zero bytes are a word that was not raised.
transport::FailureRecord& early_leave_in(std::span<std::byte> memory) {
  return *reinterpret_cast<transport::FailureRecord*>(memory.data());
}

std::string waited_in_a_callback(const coordinator::Submission& submission) {
  return absl::StrCat("waited in a callback of a future for the ",
                      name_of(submission.request.kind), " of ",
                      submission.request.key.to_string(),
                      " (or dropped its last future there), but the thread of "
                      "callbacks executes this operation; wait on a thread of "
                      "the program, or hand over the memory with keep_alive");
}

}  // namespace

Job::Job(const Config& config, Places places,
         std::unique_ptr<transport::Communicator> wires,
         std::unique_ptr<transport::NodeSegment> segment, Kept kept)
    : topology_(std::move(places.topology)),
      home_(topology_.describe(topology_.rank())),
      sharing_(std::move(places.sharing)),
      log_options_(config.log),
      log_(topology_.rank(), log_options_),
      launcher_(config.launcher),
      wires_(std::move(wires)),
      segment_(std::move(segment)),
      layout_(sharing_.local_size(), config.cache_capacity),
      monitor_(topology_, *segment_,
               early_leave_in(layout_.early_leave(segment_->payload())),
               kFirstEpoch),
      node_mail_(*segment_, layout_.mail(segment_->payload())),
      messages_mail_(*segment_, layout_.messages(segment_->payload()),
                     transport::NodeMail::Pairs::kAll),
      router_(*wires_, node_mail_, sharing_),
      board_(layout_.board(segment_->payload()), segment_->local_rank(),
             segment_->local_size(), config.cache_capacity),
      tuning_(config, topology_, log_),
      coordinator_(coordinator_options(config, topology_, sharing_, tuning_,
                                       kept.trace->shared_recorder()),
                   board_, Clock::steady()),
      trace_(std::move(kept.trace)),
      metrics_(std::move(kept.metrics)),
      queue_(&trace_->recorder()),
      arena_(std::move(kept.host)),
      arenas_(arena_,
              {.rank = sharing_.local_rank(), .ranks = sharing_.local_size()},
              layout_.arenas(segment_->payload()), config.arena_read_only),
      plane_board_(*segment_, layout_.plane(segment_->payload()),
                   transport::WaitPolicy::for_node(topology_.local_size())),
      nccl_(device::Gpus::of_process(),
            nccl_options(config, std::move(kept.gpus)), nccl_job(config)),
      planes_(topology_.rank(),
              plane_factory(
                  {.sharing = sharing_,
                   .board = plane_board_,
                   .arenas = arenas_,
                   .wires = *wires_,
                   .waiting = transport::WaitPolicy::for_network(
                       topology_.local_size()),
                   .gpus = device::Gpus::of_process(),
                   .cuda_ipc = config.cuda_ipc,
                   .gpu_timeouts = gpu_timeouts(config),
                   .nccl = nccl_,
                   .hierarchical = {.allreduce = config.hierarchical_allreduce,
                                    .allgather = config.hierarchical_allgather},
                   .report =
                       [this](const std::string& text) { log_.debug(text); }}),
              [this] { nccl_.graphs()->drop_all(); }),
      sets_(topology_.rank(), topology_.size(), home_),
      executor_(planes_, sets_, monitor_, &trace_->recorder()),
      messenger_(
          {.topology = sharing_,
           .near = messages_mail_,
           .arenas = arenas_,
           .queue = queue_,
           .stall_warning = first_stall_check(config),
           .stall_shutdown = config.stall_shutdown_time,
           .describe = [this](int rank) { return topology_.describe(rank); },
           .send_far =
               [this](int to, std::string bytes) {
                 return router_.post(to, std::move(bytes));
               }}),
      activity_(config.is_watched ? std::optional<Activity>(std::in_place)
                                  : std::nullopt),
      reports_(config.summary_steps == 0
                   ? std::nullopt
                   : std::optional<ReportChannel>(
                         std::in_place,
                         [this](int from, std::string_view report) {
                           if (step_watch_) step_watch_->receive(from, report);
                         })),
      progress_({.topology = sharing_,
                 .segment = *segment_,
                 .router = router_,
                 .coordinator = coordinator_,
                 .queue = queue_,
                 .executor = executor_,
                 .monitor = monitor_,
                 .log = log_,
                 .launcher = launcher_,
                 .activity = activity_ ? &*activity_ : nullptr,
                 .recorder = &trace_->recorder(),
                 .reports = reports_ ? &*reports_ : nullptr,
                 .messages = &messenger_,
                 .questions = &questions_},
                config.heartbeat_deadline) {
  monitor_.set_poll([this] { return progress_.poll(); },
                    [this] { return progress_.poll_due(); });
}

collective::NcclSession::Options Job::nccl_options(
    const Config& config, std::shared_ptr<collective::NcclArena> arena) {
  const Config::ByNccl& wanted = config.by_nccl;
  return {.library = config.nccl_library,
          .use = {.allreduce = wanted.allreduce,
                  .allgather = wanted.allgather,
                  .broadcast = wanted.broadcast,
                  .alltoall = wanted.alltoall,
                  .reducescatter = wanted.reducescatter},
          .may_share_gpus = config.nccl_shares_gpus,
          .connect_timeout = config.start_timeout,
          .arena = std::move(arena),
          .report = [this](const std::string& text) { log_.debug(text); }};
}

collective::GpuTimeouts Job::gpu_timeouts(const Config& config) {
  return {.warning = config.stall_warning_time,
          .shutdown = shutdown_on_gpu(config),
          .warn = [this](const std::string& text) { log_.warning(text); }};
}

// Called on the watch's own thread, which polls while GPU work is in flight.
collective::NcclWatch::Job Job::nccl_job(const Config& config) {
  return {
      .verdict = [this] { return monitor_.judge(); },
      .is_broken = [this] { return !monitor_.verdict().ok(); },
      .give_up = [this](const std::string& why) { abort(why); },
      .ring = [this] { ring(); },
      .timeouts = gpu_timeouts(config),
      .loss_detection_time =
          Heartbeats::Options::for_outage(config.heartbeat_deadline).deadline,
      .close_timeout = kNcclCloseTimeout};
}

Job::~Job() { stop().IgnoreError(); }

absl::Status Job::status() const {
  return is_of_a_parent() ? home_.check() : monitor_.verdict();
}

absl::Status Job::stop() {
  if (is_of_a_parent()) return home_.check();
  if (progress_.is_driven_here() || nccl_.watch().is_here()) {
    return absl::FailedPreconditionError(
        "a callback of a future cannot stop the job, because it runs on the "
        "job's thread; stop it from a thread of the program");
  }
  MutexLock lock(stop_mutex_);
  if (!thread_.joinable()) return end_;
  // Reports that are sent before this rank leaves arrive.
  if (step_watch_ != nullptr) step_watch_->finish();
  progress_.leave();
  thread_.join();
  tuning_.finish(coordinator_.tuner());
  step_watch_.reset();
  // Work in a stream ends with the job; until the stop, other ranks may still
  // be lost.
  nccl_.watch().stop();
  ignore_peers();
  trace_->flush();
  metrics_->write();
  end_ = loop_result_;
  queue_.close(absl::FailedPreconditionError(
      "horovodpp has been shut down on this rank; start it again first"));
  return end_;
}

absl::Status Job::start_timeline(const std::string& path,
                                 TimelineOptions options) {
  if (is_of_a_parent()) return home_.check();
  trace_->start_timeline({.path = path,
                          .rank = topology_.rank(),
                          .mark_cycles = options.mark_cycles,
                          .log = log_options_});
  return absl::OkStatus();
}

absl::Status Job::stop_timeline() {
  if (is_of_a_parent()) return home_.check();
  trace_->stop_timeline();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Metric>> Job::metrics() {
  if (is_of_a_parent()) return home_.check();
  return metrics_->snapshot(
      {.rank = topology_.rank(), .size = topology_.size()});
}

void Job::abort(const std::string& why) {
  if (has_left_.load() || is_of_a_parent()) return;
  monitor_.give_up(
      absl::StrCat(topology_.describe(topology_.rank()), " ", why));
}

void Job::submit(const coordinator::SubmissionPtr& submission) {
  submit(submission, WaitsAtOnce::here());
}

void Job::submit_for_another(const coordinator::SubmissionPtr& submission) {
  submit(submission, false);
}

void Job::submit(const coordinator::SubmissionPtr& submission,
                 bool waits_at_once) {
  if (is_of_a_parent()) return submission->done(home_.check());
  if (!submission->request.device.is_cpu()) {
    submission->is_enqueued = false;
    const absl::Status noted = note_order(*submission);
    if (!noted.ok()) return submission->done(noted);
  }
  const absl::StatusOr<bool> wake = queue_.push(submission, waits_at_once);
  if (!wake.ok()) return submission->done(wake.status());
  if (*wake) ring();
}

void Job::ring() { segment_->doorbell(segment_->local_rank()).ring(); }

void Job::wait_for(const coordinator::SubmissionPtr& submission,
                   const Ready& ready) {
  if (is_of_a_parent()) return submission->done(home_.check());
  if (ready && progress_.is_driven_here()) {
    // The operation ends on the GPU without this thread.
    if (submission->is_enqueued) return;
    return refuse_to_wait(submission);
  }
  if (ready && nccl_.watch().is_here()) {
    abort(waited_in_a_callback(*submission));
    ring();
    return nccl_.watch().poll_until(ready);
  }
  const coordinator::Key& key = submission->request.key;
  if (ready && trace_->recorder().is_followed()) note_wait(*submission);
  const bool executes = !describe(submission->request.kind).is_message;
  if (ready && progress_.help(key, ready, executes)) return;
  queue_.wait_for(key);
  ring();
}

std::string Job::explain(const coordinator::SubmissionPtr& submission) {
  const coordinator::Request& request = submission->request;
  if (describe(request.kind).is_message) {
    return wait_text(*submission, topology_.rank(),
                     [this](int rank) { return topology_.describe(rank); });
  }
  const std::string kind = name_of(request.kind);
  std::optional<std::string> answer;
  // A callback runs on the thread that would ask.
  if (!is_of_a_parent() && !progress_.is_driven_here()) {
    answer = questions_.ask(
        request.key, [this] { ring(); }, kAnswerTimeout);
  }
  if (answer) return absl::StrCat(kind, " ", *answer);
  return absl::StrCat(kind, " ", request.key.to_string(),
                      " is not done, and rank 0 does not say which ranks are "
                      "missing");
}

void Job::note_wait(const coordinator::Submission& submission) {
  trace::Recorder& recorder = trace_->recorder();
  recorder.write(
      trace::EventKind::kAwaited,
      {.name = coordinator::traced_name(recorder, submission.request)});
}

Quick Job::try_at_once(const coordinator::SubmissionPtr& submission,
                       const std::function<void()>& begun) {
  return is_of_a_parent() ? Quick::kNot
                          : progress_.try_at_once(submission, begun);
}

// Fails a submission on which a callback of a future waits. An operation that
// was taken has been executed when callbacks run, so its memory is not used any
// more. One still in the queue must not be executed later, because the caller
// reuses its memory; so the queue is closed.
void Job::refuse_to_wait(const coordinator::SubmissionPtr& submission) {
  const std::string what = waited_in_a_callback(*submission);
  if (queue_.holds(*submission)) {
    abort(what);
    const absl::Status reason = status();
    queue_.close(reason.ok() ? absl::AbortedError(what) : reason);
  }
  submission->done(absl::FailedPreconditionError(
      absl::StrCat(topology_.describe(topology_.rank()), " ", what)));
}

void Job::callback_threw(const std::string& what) {
  abort(absl::StrCat("threw in a callback of a future: ", what));
}

}  // namespace hvd::runtime
