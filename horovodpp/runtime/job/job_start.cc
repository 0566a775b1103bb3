// SPDX-License-Identifier: Apache-2.0
// The start of a Job, and the thread that runs it.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/collective/shm/crossovers.h"
#include "horovodpp/core/job/rank_status.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/clock.h"
#include "horovodpp/core/thread/thread_start.h"
#include "horovodpp/core/thread/threads.h"
#include "horovodpp/core/version.h"
#include "horovodpp/device/gpus.h"
#include "horovodpp/runtime/execution/crossover_cache.h"
#include "horovodpp/runtime/job/job.h"
#include "horovodpp/runtime/job/start_up.h"
#include "horovodpp/transport/loading/loaded_mpi.h"
#include "horovodpp/transport/loading/mpi_module.h"

namespace hvd::runtime {
namespace {

// The epoch of calls before the loop runs.
constexpr std::uint32_t kStartEpoch = 0;

// Exit code of a process whose error no caller can receive.
constexpr int kCaughtCode = 1;

// The interrupt of calls before the loop runs. Meanwhile this rank watches for
// failures as in any call.
class StartInterrupt : public transport::Interrupt {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  StartInterrupt(FailureMonitor& monitor, TimePoint deadline)
      : monitor_(monitor), deadline_(deadline) {}
  absl::Status check() override {
    if (std::chrono::steady_clock::now() < deadline_) return monitor_.check();
    return absl::DeadlineExceededError(
        "the other ranks of this node did not start in time; raise "
        "HOROVOD_START_TIMEOUT");
  }
  std::optional<TimePoint> verdict_due() const override {
    const auto due = monitor_.verdict_due();
    if (deadline_ == TimePoint::max()) return due;
    return due ? std::min(*due, deadline_) : deadline_;
  }

 private:
  FailureMonitor& monitor_;
  const TimePoint deadline_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Job>> Job::start(
    const Config& config, std::unique_ptr<transport::Communicator> wires) {
  auto trace = std::make_shared<telemetry::RankTrace>(config.flight_recorder);
  auto metrics = std::make_shared<telemetry::RankMetrics>(trace->follower());
  return start(config, std::move(wires),
               {.host = std::make_shared<Arena>(
                    Arena::Options{.most_bytes = config.arena_limit}),
                .gpus = std::make_shared<collective::NcclArena>(),
                .trace = std::move(trace),
                .metrics = std::move(metrics)});
}

absl::StatusOr<std::unique_ptr<Job>> Job::start(
    const Config& config, std::unique_ptr<transport::Communicator> wires,
    Kept kept) {
  const auto deadline = deadline_after(config.start_timeout);
  HVD_ASSIGN_OR_RETURN(Topology topology,
                       Topology::from_peers(wires->rank(), wires->peers()));
  HVD_ASSIGN_OR_RETURN(Topology sharing, sharing_topology(*wires));
  const int local_size = sharing.local_size();
  const bool may_remember =
      config.measure_crossovers && local_size > 1 && sharing.local_rank() == 0;
  const CrossoverCache cache(
      may_remember ? config.cache_dir : "",
      {.ranks = local_size,
       .slot_bytes = collective::ShmOptions().chunk_bytes});
  // The file may be slow to read, so read it while the other ranks wait for
  // this one anyway.
  const auto remembered = cache.load();
  HVD_RETURN_IF_ERROR(agree_on_config(config, *wires, deadline));
  const NodeLayout layout(sharing.local_size(), config.cache_capacity);
  HVD_ASSIGN_OR_RETURN(
      std::unique_ptr<transport::NodeSegment> segment,
      transport::NodeSegment::open(*wires, sharing, layout.bytes(), deadline,
                                   config.huge_pages
                                       ? transport::SharedMemory::Pages::kHuge
                                       : transport::SharedMemory::Pages::kAny));
  set_default_num_threads(config.num_threads > 0
                              ? config.num_threads
                              : cores_for_ranks() / topology.local_size());
  device::Gpus::of_process().look_for(config.cuda_library);
  std::unique_ptr<Job> job(
      new Job(config, {std::move(topology), std::move(sharing)},
              std::move(wires), std::move(segment), std::move(kept)));
  job->crossovers_ = remembered;
  HVD_RETURN_IF_ERROR(job->launch(config));
  if (job->crossovers_ && job->crossovers_ != remembered) {
    const absl::Status stored = cache.store(*job->crossovers_);
    if (!stored.ok()) job->log_.info(std::string(stored.message()));
  }
  return job;
}

absl::Status Job::add_first_sets(const Config& config) {
  HVD_RETURN_IF_ERROR(executor_.add_set(
      coordinator::kGlobalSet,
      *coordinator_.process_sets().ranks(coordinator::kGlobalSet)));
  coordinator::ProcessSetId id = coordinator::kGlobalSet;
  for (const std::vector<int>& ranks : config.process_sets) {
    std::vector<int> members = ranks;
    std::sort(members.begin(), members.end());
    HVD_RETURN_IF_ERROR(executor_.add_set(++id, members));
  }
  return absl::OkStatus();
}

// On one node no call goes to the MPI library.
absl::Status Job::watch_calls(std::chrono::nanoseconds timeout) {
  const transport::CallMeter* const calls = wires_->calls();
  if (calls == nullptr || sharing_.node_count() == 1) return absl::OkStatus();
  call_watch_.emplace(
      *calls,
      CallWatch::Options{
          .timeout = timeout,
          .is_broken = [this] { return !monitor_.judge().ok(); }},
      [this](const std::string& call) { end_caught(call); });
  return call_watch_->start();
}

// The operation of the caught thread may write its memory until the process
// ends, so no waiter can be told that it is over. Besides, the waiter may be
// that thread.
void Job::end_caught(const std::string& call) {
  const absl::Status known = monitor_.judge();
  std::string why(known.message());
  if (known.ok()) {
    std::vector<std::string> neighbours;
    for (const int rank : coordinator_.neighbours()) {
      neighbours.push_back(topology_.describe(rank));
    }
    why = absl::StrCat("the connection to ", absl::StrJoin(neighbours, " or "),
                       " is broken");
  }
  launcher_.broken(absl::AbortedError(why));
  monitor_.report(why);
  log_.error(absl::StrCat(why, "; MPI does not return from ", call,
                          ", so this process cannot go on, and ends"));
  ::_exit(kCaughtCode);
}

// Describes how the ranks found each other.
std::string Job::meeting(const Config& config) const {
  const std::string module = transport::loaded_mpi_module();
  if (!config.rendezvous.empty()) return "by sockets, without MPI";
  if (topology_.size() == 1) return "alone";
  if (module.empty()) return "in one process";
  return absl::StrCat("by ", transport::LoadedMpi::find().version(),
                      ", through ", module);
}

void Job::log_start(const Config& config) {
  if (!log_.writes(telemetry::LogLevel::kDebug)) return;
  log_.debug(absl::StrCat(
      "horovodpp ", version(), ", ", topology_.describe(topology_.rank()), ": ",
      topology_.size(), " ranks on ", topology_.node_count(),
      " nodes found each other ", meeting(config)));
  log_.debug(
      absl::StrCat("settings: ", absl::StrJoin(common_settings(config), " ")));
  log_.debug(
      config.arena_limit == 0
          ? std::string("arena: none, as HOROVODPP_ARENA_LIMIT is 0")
          : absl::StrCat(
                "arena: shared memory for tensors, ",
                config.arena_limit == Config().arena_limit
                    ? "without a limit"
                    : absl::StrCat("up to ", config.arena_limit, " bytes"),
                config.arena_read_only ? ", which others only read" : ""));
  log_.debug(absl::StrCat(
      "fusion: batches of up to ", config.fusion_threshold, " bytes; ",
      config.steps_before_schedule == 0
          ? std::string("no cycles")
          : absl::StrCat("a cycle after ", config.steps_before_schedule,
                         " equal steps")));
}

absl::Status Job::launch(const Config& config) {
  log_start(config);
  if (!config.timeline.empty()) {
    trace_->start_timeline({.path = config.timeline,
                            .rank = topology_.rank(),
                            .mark_cycles = config.timeline_mark_cycles,
                            .parts = config.timeline_parts,
                            .log = log_options_});
  }
  watch_steps(config);
  metrics_->start({.rank = topology_.rank(),
                   .size = topology_.size(),
                   .local_rank = topology_.local_rank(),
                   .count = config.metrics.count,
                   .file = config.metrics.file,
                   .interval = config.metrics.interval,
                   .port = config.metrics.port,
                   .address = config.metrics.address,
                   .log = config.log});
  trace_->recorder().begin_job(topology_.rank(), topology_.size());
  HVD_RETURN_IF_ERROR(add_first_sets(config));
  watch_peers();
  warn(config);
  MutexLock lock(stop_mutex_);
  std::promise<absl::Status> prepared;
  auto thread = start_thread("runs the job", [this, &config, &prepared] {
    const absl::Status ready = prepare_here(config);
    prepared.set_value(ready);
    run_here();
  });
  if (!thread.ok()) {
    // Tell the other ranks; that needs no thread.
    abort(absl::StrCat("cannot run: ", thread.status().message()));
    run_here();
    ignore_peers();
    return thread.status();
  }
  thread_ = *std::move(thread);
  HVD_RETURN_IF_ERROR(prepared.get_future().get());
  if (absl::Status watched = watch_calls(config.heartbeat_deadline);
      !watched.ok()) {
    abort(absl::StrCat("cannot run: ", watched.message()));
    return watched;
  }
  if (activity_) {
    activity_reporter_.emplace(*activity_, queue_, launcher_);
    const absl::Status reports = activity_reporter_->start();
    if (!reports.ok()) log_.warning(std::string(reports.message()));
  }
  log_.info(absl::StrCat(topology_.describe(topology_.rank()),
                         " entered a job of ", topology_.size(), " on ",
                         sharing_.node_count(), " nodes"));
  return absl::OkStatus();
}

void Job::watch_steps(const Config& config) {
  if (!reports_) return;
  auto watch = telemetry::StepWatch::start(
      trace_->follower(),
      {.rank = topology_.rank(),
       .ranks = topology_.size(),
       .steps = static_cast<std::size_t>(config.summary_steps),
       .log = log_options_,
       .describe = [this](int rank) { return topology_.describe(rank); },
       .send =
           [this](std::string report) {
             reports_->send(std::move(report));
             ring();
           },
       .links = [this] { return wires_->link_uses(); }});
  if (watch.ok()) {
    step_watch_ = *std::move(watch);
  } else {
    log_.warning(
        absl::StrCat("cannot measure steps: ", watch.status().message()));
  }
}

void Job::watch_peers() {
  wires_->on_peer_lost([this](int rank, const std::string& how) {
    if (rank == topology_.rank()) {
      log_.error(absl::StrCat(topology_.describe(rank), " ", how));
    }
    note_lost(rank, how);
  });
  liveness_locks_.emplace(
      layout_.lives(segment_->payload()), segment_->local_rank(),
      segment_->local_size(), [this](int local_rank) {
        const auto at = static_cast<std::size_t>(local_rank);
        note_lost(sharing_.local_ranks()[at], kEndedEarly);
      });
}

// The monitor learns it first: its reason is the one that users see.
void Job::note_lost(int rank, const std::string& how) {
  monitor_.peer_lost(rank, how);
  const std::vector<int>& here = sharing_.local_ranks();
  const auto found = std::find(here.begin(), here.end(), rank);
  if (found == here.end() || rank == topology_.rank()) return;
  plane_board_.mark_lost(static_cast<int>(found - here.begin()));
}

void Job::ignore_peers() {
  wires_->on_peer_lost(nullptr);
  liveness_locks_.reset();
}

void Job::warn(const Config& config) {
  const std::string caveat = wires_->caveat();
  if (!caveat.empty() && sharing_.local_rank() == 0) log_.warning(caveat);
  if (config.unsupported.empty() || topology_.rank() != 0) return;
  log_.warning(absl::StrCat(absl::StrJoin(config.unsupported, ", "),
                            config.unsupported.size() == 1 ? " has" : " have",
                            " no effect: horovodpp does not have that yet"));
}

absl::Status Job::prepare_here(const Config& config) {
  absl::Status ready;
  try {
    ready = prepare(config);
  } catch (const std::bad_alloc&) {
    ready = absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception& error) {
    ready = absl::InternalError(error.what());
  }
  if (!ready.ok()) abort(absl::StrCat("cannot run: ", ready.message()));
  return ready;
}

void Job::run_here() {
  loop_result_ = progress_.run();
  has_left_.store(loop_result_.ok());
  if (loop_result_.ok()) {
    return trace_->recorder().write(trace::EventKind::kJobEnds, {});
  }
  queue_.close(loop_result_);
  wires_->distrust();
  log_.info(absl::StrCat("the job is broken: ", loop_result_.message()));
}

absl::Status Job::prepare(const Config& config) {
  HVD_RETURN_IF_ERROR(pin_thread(config, topology_));
  if (!config.measure_crossovers || sharing_.local_size() == 1) {
    return absl::OkStatus();
  }
  return learn_crossovers(config);
}

// If ranks outnumber cores, a measurement would show the scheduler's choices.
absl::Status Job::learn_crossovers(const Config& config) {
  StartInterrupt interrupt(monitor_, deadline_after(config.start_timeout));
  const bool crowded =
      transport::WaitPolicy::for_node(topology_.local_size()).spin.count() == 0;
  const auto unknown =
      crowded ? plane_board_.crossovers() : collective::ShmCrossovers();
  HVD_ASSIGN_OR_RETURN(
      const collective::ShmCrossovers shared,
      collective::share_crossovers(plane_board_, crossovers_.value_or(unknown),
                                   kStartEpoch, interrupt));
  const bool known = shared != collective::ShmCrossovers();
  std::optional<collective::ShmCrossovers> values = shared;
  if (!known) {
    HVD_ASSIGN_OR_RETURN(
        values, collective::measure_crossovers(
                    plane_board_, &arenas_, {.epoch = kStartEpoch}, interrupt));
    if (!values) return absl::OkStatus();
    crossovers_ = values;
  }
  plane_board_.set_crossovers(*values);
  log_.debug(
      absl::StrCat(known ? "remembered" : "measured", ": tensors up to ",
                   values->small_bytes,
                   " bytes are reduced by every rank, larger ones in steps of ",
                   values->step_bytes));
  return absl::OkStatus();
}

}  // namespace hvd::runtime
