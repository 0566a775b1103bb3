// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/global.h"

#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/system/at_exit.h"
#include "horovodpp/core/thread/caller_state.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/core/trace/current.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/runtime/settings/config.h"
#include "horovodpp/transport/loading/mpi_module.h"

namespace hvd {

// The job of a thread that holds a ThreadRuntime.
struct ThreadJob {
  std::shared_ptr<Runtime> runtime;
  bool was_left = false;  // By shutdown().
};

namespace {

// The job of the process. Never destroyed, so that exit order cannot matter.
struct Process {
  // Serializes init(), which takes long and may fork, as MPI does.
  Mutex* entering = new Mutex;
  // Held briefly, and across a fork: otherwise a child could wait for a thread
  // that only its parent has.
  Mutex mutex;
  std::shared_ptr<Runtime> runtime ABSL_GUARDED_BY(mutex);
  bool was_initialized ABSL_GUARDED_BY(mutex) = false;
  // The process that leaves the job at its exit, or 0. A forked child has
  // another id, and leaves its parent's job alone.
  std::atomic<pid_t> leaves_at_exit = 0;
};

Process& process();

void before_fork() ABSL_NO_THREAD_SAFETY_ANALYSIS { process().mutex.lock(); }
void in_parent() ABSL_NO_THREAD_SAFETY_ANALYSIS { process().mutex.unlock(); }
void in_child() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  process().mutex.unlock();
  // The thread that held the old one is not in the child.
  process().entering = new Mutex;
  trace::forget_after_fork();
}

Process& process() {
  static Process* const instance = [] {
    auto* const made = new Process;
    ::pthread_atfork(before_fork, in_parent, in_child);
    return made;
  }();
  return *instance;
}

// Created at load time, when no other thread forks.
[[maybe_unused]] const Process& process_at_load = process();

std::shared_ptr<Runtime> runtime_of_process() {
  MutexLock lock(process().mutex);
  return process().runtime;
}

std::shared_ptr<Runtime> take_runtime() {
  MutexLock lock(process().mutex);
  return std::exchange(process().runtime, nullptr);
}

// Stops `runtime`, which take_runtime() returned. A callback of a future cannot
// stop it; the job then stays the current one.
absl::Status stop(const std::shared_ptr<Runtime>& runtime) {
  const absl::Status status = runtime->stop();
  MutexLock lock(process().mutex);
  if (absl::IsFailedPrecondition(status)) {
    process().runtime = runtime;
  } else if (process().runtime == nullptr) {
    trace::set_of_process(nullptr);
  }
  return status;
}

// Delay before a rank exits after its job broke. The rank that broke the job
// exits earlier, so a launcher that reports the first failure reports that
// rank.
constexpr std::chrono::milliseconds kAfterTheCulprit(250);

// Runs at exit. A failed process does not wait for its peers; it tells them.
void leave_job(int code, void*) {
  if (process().leaves_at_exit.load() != ::getpid()) return;
  const std::shared_ptr<Runtime> runtime = take_runtime();
  if (runtime == nullptr) return;
  if (!runtime->status().ok()) std::this_thread::sleep_for(kAfterTheCulprit);
  if (code != 0) runtime->abort(absl::StrCat("exited with code ", code));
  stop(runtime).IgnoreError();
}

absl::Status no_job(bool was_initialized) {
  return absl::FailedPreconditionError(
      was_initialized
          ? "horovodpp has been shut down in this process; call hvd::init() "
            "first"
          : "horovodpp has not been initialized; call hvd::init() first");
}

absl::Status other_headers(Headers headers) {
  const int number = headers.number();
  return absl::FailedPreconditionError(absl::StrCat(
      "this program was compiled with the headers of horovodpp ",
      number / 10000, ".", number / 100 % 100, ".", number % 100,
      " and runs with the library of ", version(),
      ": compile it anew with the headers of that library, or have it find "
      "the other one (LD_LIBRARY_PATH)"));
}

// OK if this process takes part in the job, broken or not. A forked child has
// no part in its parent's job.
absl::Status part_in(const Runtime& runtime) {
  const absl::Status status = runtime.status();
  return absl::IsFailedPrecondition(status) ? status : absl::OkStatus();
}

// Asks the job's topology. Holds a reference, because another thread may shut
// the job down meanwhile.
template <typename Answer>
Answer ask(Answer (Topology::*question)() const) {
  const std::shared_ptr<Runtime> runtime = value_or_throw(find_runtime());
  return (runtime->topology().*question)();
}

}  // namespace

Status init(Headers headers) {
  HVD_ASSIGN_OR_RETURN(const Config config, Config::from_env());
  return init(config, headers);
}

Status init(const Config& config, Headers headers) {
  if (!headers.go_with_library()) return other_headers(headers);
  if (caller_state.job != nullptr) {
    HVD_ASSIGN_OR_RETURN(const auto runtime, find_runtime());
    return part_in(*runtime);
  }
  MutexLock entering(*process().entering);
  if (const auto there = runtime_of_process()) return part_in(*there);
  HVD_ASSIGN_OR_RETURN(std::shared_ptr<Runtime> started,
                       Runtime::start(config));
  {
    MutexLock lock(process().mutex);
    trace::set_of_process(started->recorder());
    process().runtime = std::move(started);
    process().was_initialized = true;
  }
  // Registered after MPI's own exit handler, so that it runs first.
  if (process().leaves_at_exit.exchange(::getpid()) == 0) {
    leave_at_exit(leave_job);
  }
  return absl::OkStatus();
}

Status shutdown() {
  if (caller_state.job != nullptr) {
    const absl::Status status = caller_state.job->runtime->stop();
    if (!absl::IsFailedPrecondition(status)) caller_state.job->was_left = true;
    return status;
  }
  const std::shared_ptr<Runtime> runtime = take_runtime();
  return runtime == nullptr ? absl::OkStatus() : stop(runtime);
}

namespace {

// Replaces the process's job by the one that `next` returns of it.
Status replace_job(const char* call,
                   StatusOr<std::unique_ptr<Runtime>> (Runtime::*next_of)()) {
  if (caller_state.job != nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "this thread has a job of its own; call Runtime::", call, "() on it"));
  }
  HVD_ASSIGN_OR_RETURN(const std::shared_ptr<Runtime> old, find_runtime());
  HVD_ASSIGN_OR_RETURN(std::shared_ptr<Runtime> next, ((*old).*next_of)());
  MutexLock lock(process().mutex);
  // The last reference to the old job ends it.
  if (process().runtime == old) {
    trace::set_of_process(next->recorder());
    process().runtime.swap(next);
    return absl::OkStatus();
  }
  return absl::CancelledError(absl::StrCat(
      "the job was shut down while its ranks formed a new one (", call, ")"));
}

}  // namespace

Status reform() { return replace_job("reform", &Runtime::reform); }

Status grow() { return replace_job("grow", &Runtime::grow); }

int waiting_newcomers() {
  return value_or_throw(find_runtime())->waiting_newcomers();
}

Status start_timeline(const std::string& path, TimelineOptions options) {
  HVD_ASSIGN_OR_RETURN(const auto runtime, find_runtime());
  return runtime->start_timeline(path, options);
}

Status stop_timeline() {
  HVD_ASSIGN_OR_RETURN(const auto runtime, find_runtime());
  return runtime->stop_timeline();
}

Status mark_step() {
  HVD_ASSIGN_OR_RETURN(const auto runtime, find_runtime());
  runtime->mark_step();
  return absl::OkStatus();
}

StatusOr<std::vector<Metric>> metrics() {
  HVD_ASSIGN_OR_RETURN(const auto runtime, find_runtime());
  return runtime->metrics();
}

bool is_initialized() {
  const auto runtime = find_runtime();
  return runtime.ok() && part_in(**runtime).ok();
}

StatusOr<std::shared_ptr<Runtime>> find_runtime() {
  if (caller_state.job != nullptr) {
    if (!caller_state.job->was_left) return caller_state.job->runtime;
    return absl::FailedPreconditionError(
        "this thread's rank has been shut down; only run_ranks() can start "
        "another");
  }
  MutexLock lock(process().mutex);
  if (process().runtime == nullptr) return no_job(process().was_initialized);
  return process().runtime;
}

Runtime& current_runtime() { return *value_or_throw(find_runtime()); }

int rank() { return ask(&Topology::rank); }
int size() { return ask(&Topology::size); }
int local_rank() { return ask(&Topology::local_rank); }
int local_size() { return ask(&Topology::local_size); }
int cross_rank() { return ask(&Topology::cross_rank); }
int cross_size() { return ask(&Topology::cross_size); }
bool mpi_built() {
  const StatusOr<Config> config = Config::from_env();
  if (!config.ok()) return false;
  return transport::load_mpi_module(
             {.file = config->mpi_module, .launcher = config->mpi_launcher})
      .ok();
}
bool is_homogeneous() { return ask(&Topology::is_homogeneous); }

struct ThreadRuntime::Scope {
  explicit Scope(std::shared_ptr<trace::Recorder> of_rank)
      : recorder(std::move(of_rank)) {}

  ThreadJob job;
  ThreadJob* previous = nullptr;
  trace::ThreadRecorder recorder;
};

ThreadRuntime::ThreadRuntime(std::shared_ptr<Runtime> runtime)
    : scope_(std::make_unique<Scope>(runtime->recorder())) {
  scope_->job.runtime = std::move(runtime);
  scope_->previous = std::exchange(caller_state.job, &scope_->job);
}

ThreadRuntime::ThreadRuntime(Runtime& runtime)
    : ThreadRuntime(
          std::shared_ptr<Runtime>(std::shared_ptr<void>(), &runtime)) {}

ThreadRuntime::~ThreadRuntime() { caller_state.job = scope_->previous; }

}  // namespace hvd
