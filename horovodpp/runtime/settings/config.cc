// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/settings/config.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "horovodpp/core/status.h"

namespace hvd {
namespace {

// Of writes of the metrics.
constexpr std::chrono::milliseconds kLeastInterval(100);

std::optional<std::string> variable(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return std::string(text);
}

absl::Status unreadable(const char* name, const std::string& text,
                        const std::string& wanted) {
  return absl::InvalidArgumentError(
      absl::StrCat(name, "='", text, "' is not ", wanted));
}

// Sets `value` from a whole number in [0, max].
template <typename T>
absl::Status read_count(const char* name, T& value,
                        T max = std::numeric_limits<T>::max()) {
  const auto text = variable(name);
  if (!text) return absl::OkStatus();
  std::uint64_t number = 0;
  if (!absl::SimpleAtoi(*text, &number) ||
      number > static_cast<std::uint64_t>(max)) {
    return unreadable(name, *text,
                      absl::StrCat("a whole number between 0 and ", max));
  }
  value = static_cast<T>(number);
  return absl::OkStatus();
}

struct Unit {
  std::chrono::nanoseconds of = std::chrono::seconds(1);
  const char* name = "seconds";
  // The largest sensible number of these units.
  std::int64_t most = 1'000'000'000;
};

absl::Status read_duration(const char* name, const Unit& unit,
                           std::chrono::nanoseconds& value) {
  const auto text = variable(name);
  if (!text) return absl::OkStatus();
  double number = 0;
  if (!absl::SimpleAtod(*text, &number) || !(number >= 0) ||
      number > static_cast<double>(unit.most)) {
    return unreadable(
        name, *text,
        absl::StrCat("a number of ", unit.name, " between 0 and ", unit.most));
  }
  value = std::chrono::nanoseconds(
      static_cast<std::int64_t>(number * static_cast<double>(unit.of.count())));
  return absl::OkStatus();
}

absl::Status read_flag(const char* name, bool& value) {
  const auto text = variable(name);
  if (!text) return absl::OkStatus();
  int number = 0;
  if (!absl::SimpleAtoi(*text, &number))
    return unreadable(name, *text, "0 or 1");
  value = number > 0;
  return absl::OkStatus();
}

absl::Status read_cores(const char* name, std::vector<int>& cores) {
  const auto text = variable(name);
  if (!text) return absl::OkStatus();
  for (const absl::string_view item : absl::StrSplit(*text, ',')) {
    int core = 0;
    if (!absl::SimpleAtoi(item, &core) || core < 0) {
      return unreadable(name, *text, "a comma list of core numbers");
    }
    cores.push_back(core);
  }
  return absl::OkStatus();
}

absl::Status read_log_level(const char* name, telemetry::LogLevel& level) {
  const auto text = variable(name);
  if (!text) return absl::OkStatus();
  const auto known = telemetry::log_level_from(*text);
  if (!known) {
    return unreadable(name, *text,
                      "one of trace, debug, info, warning, error, fatal");
  }
  level = *known;
  return absl::OkStatus();
}

absl::Status read_stall_check(Config& config) {
  bool disabled = false;
  constexpr char kShutdown[] = "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS";
  HVD_RETURN_IF_ERROR(read_duration("HOROVOD_STALL_CHECK_TIME_SECONDS", {},
                                    config.stall_warning_time));
  if (config.stall_warning_time.count() == 0) {
    // With warnings disabled the job is not given up either, unless the user
    // asks for it.
    config.stall_shutdown_time = std::chrono::nanoseconds(0);
  }
  HVD_RETURN_IF_ERROR(read_duration(kShutdown, {}, config.stall_shutdown_time));
  HVD_RETURN_IF_ERROR(read_flag("HOROVOD_STALL_CHECK_DISABLE", disabled));
  if (disabled) {
    config.stall_warning_time = config.stall_shutdown_time =
        std::chrono::nanoseconds(0);
  }
  return absl::OkStatus();
}

absl::Status read_num_threads(int& threads) {
  // OMP_NUM_THREADS may be a list or out of range; OpenMP judges that.
  const auto text = variable("OMP_NUM_THREADS");
  int number = 0;
  if (text && absl::SimpleAtoi(*text, &number) && number > 0) threads = number;
  return read_count("HOROVODPP_NUM_THREADS", threads, 4096);
}

absl::Status read_gpu_operation(const char* name, bool& by_nccl) {
  const auto text = variable(name);
  if (!text) return absl::OkStatus();
  if (*text != "NCCL" && *text != "MPI") {
    return unreadable(name, *text, "NCCL or MPI");
  }
  by_nccl = *text == "NCCL";
  return absl::OkStatus();
}

absl::Status read_gpu_operations(Config::ByNccl& by_nccl) {
  bool all = true;
  HVD_RETURN_IF_ERROR(read_gpu_operation("HOROVOD_GPU_OPERATIONS", all));
  by_nccl = {all, all, all, all, all};
  HVD_RETURN_IF_ERROR(
      read_gpu_operation("HOROVOD_GPU_ALLREDUCE", by_nccl.allreduce));
  HVD_RETURN_IF_ERROR(
      read_gpu_operation("HOROVOD_GPU_ALLGATHER", by_nccl.allgather));
  HVD_RETURN_IF_ERROR(
      read_gpu_operation("HOROVOD_GPU_BROADCAST", by_nccl.broadcast));
  HVD_RETURN_IF_ERROR(
      read_gpu_operation("HOROVOD_GPU_ALLTOALL", by_nccl.alltoall));
  return read_gpu_operation("HOROVOD_GPU_REDUCESCATTER", by_nccl.reducescatter);
}

absl::Status read_heartbeat(const char* name, std::chrono::nanoseconds& value) {
  HVD_RETURN_IF_ERROR(read_duration(name, {}, value));
  if (value.count() > 0) return absl::OkStatus();
  return unreadable(name, variable(name).value_or(""), "a number above 0");
}

std::string cache_directory() {
  if (const auto named = variable("HOROVODPP_CACHE_DIR")) return *named;
  if (const auto caches = variable("XDG_CACHE_HOME")) {
    return *caches + "/horovodpp";
  }
  if (const auto home = variable("HOME")) return *home + "/.cache/horovodpp";
  return "";
}

// The variables of the tasks that a scheduler starts side by side.
// (SLURM_NTASKS belongs to an allocation: an sbatch script has it, too, and
// runs alone.)
struct Scheduler {
  const char* command;
  const char* rank;
  const char* size = nullptr;  // nullptr: it sets none.
};
constexpr Scheduler kSchedulers[] = {
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
    {"flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
    {"jsrun", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"},
    {"torchrun", "ROLE_RANK", "ROLE_WORLD_SIZE"},
    {"PALS", "PALS_RANKID"},
    {"aprun", "ALPS_APP_PE"},
    {"pbsdsh", "PBS_VNODENUM"}};

constexpr const Scheduler* kSlurm = &kSchedulers[0];

// One of several tasks that a scheduler started.
struct Task {
  const Scheduler* scheduler;
  int rank;
  int size;  // 0: unknown.
};

std::optional<int> number_in(const char* name) {
  int number = 0;
  const auto text = name == nullptr ? std::nullopt : variable(name);
  if (!text || !absl::SimpleAtoi(*text, &number)) return std::nullopt;
  return number;
}

std::optional<Task> task_of_this_process() {
  for (const Scheduler& scheduler : kSchedulers) {
    const auto rank = number_in(scheduler.rank);
    const auto size = number_in(scheduler.size);
    if (!rank) continue;
    if (size ? *size > 1 : scheduler.size == nullptr && *rank > 0) {
      return Task{&scheduler, *rank, size.value_or(0)};
    }
  }
  return std::nullopt;
}

std::string described(const Task& task) {
  const Scheduler& by = *task.scheduler;
  return absl::StrCat(
      by.command, " started this process as task ", task.rank, " of ",
      task.size > 0 ? absl::StrCat(task.size) : "several", " (", by.rank,
      task.size > 0 ? absl::StrCat(", ", by.size) : "", ")");
}

// The name by which the tasks of a step find each other; "": they cannot. The
// tasks of one node are on one machine, and belong to one user.
std::string rendezvous_of(const Task& task) {
  const auto job = variable("SLURM_JOB_ID");
  const auto step = variable("SLURM_STEP_ID");
  if (task.scheduler != kSlurm || task.rank >= task.size || !job || !step ||
      number_in("SLURM_STEP_NUM_NODES") != 1) {
    return "";
  }
  return absl::StrCat("srun.", *job, ".", *step);
}

// Without HOROVOD_SIZE, use the size that MPI's own launcher sets: a rank that
// loaded another MPI would take itself for a whole job.
std::optional<const char*> size_variable() {
  for (const char* name :
       {"HOROVOD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (variable(name)) return name;
  }
  return std::nullopt;
}

// Cray's PMI, and Slurm's PMI that Intel MPI is told to load, set no variable
// for the size.
bool is_launched(int promised_size, bool is_task) {
  return promised_size > 1 || variable("OMPI_COMM_WORLD_SIZE") ||
         variable("PMIX_RANK") || variable("PMI_SIZE") ||
         variable("PMI_CONTROL_PORT") || variable("HOROVODPP_RENDEZVOUS") ||
         (is_task && variable("I_MPI_PMI_LIBRARY"));
}

// Reads how many ranks the launcher of this process started.
absl::Status read_launch(Config& config) {
  const auto task = task_of_this_process();
  const auto told = size_variable();
  if (told) HVD_RETURN_IF_ERROR(read_count(*told, config.expected_size));
  config.launched = is_launched(config.expected_size, task.has_value());
  if (told || !task) return absl::OkStatus();
  config.expected_size = task->size;
  if (config.launched) return absl::OkStatus();
  config.scheduled = described(*task);
  config.rendezvous = rendezvous_of(*task);
  if (!config.rendezvous.empty()) config.rank = task->rank;
  return absl::OkStatus();
}

// Recognizes the launcher by variables that its daemons set.
std::string launcher_of_mpi() {
  if (variable("OMPI_COMM_WORLD_SIZE")) {
    return variable("OMPI_MCA_orte_ess_num_procs") ? "openmpi4" : "openmpi5";
  }
  return variable("HYDI_CONTROL_FD") ? "mpich" : "";
}

// The set variables that are not supported. A flag set to 0 is not listed.
std::vector<std::string> unsupported_settings() {
  std::vector<std::string> names;
  const auto elastic = variable("HOROVOD_ELASTIC");
  if (elastic && *elastic != "0") names.push_back("HOROVOD_ELASTIC");
  // The tuner's model is no Gaussian process.
  const char* const noise = "HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE";
  if (variable(noise)) names.push_back(noise);
  // One stream is always used, so 1 is not reported.
  const auto streams = variable("HOROVOD_NUM_NCCL_STREAMS");
  if (streams && *streams != "1") names.push_back("HOROVOD_NUM_NCCL_STREAMS");
  return names;
}

bool tunes_malloc() {
  for (const char* name : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_",
                           "MALLOC_MMAP_THRESHOLD_", "MALLOC_MMAP_MAX_"}) {
    if (variable(name)) return true;
  }
  return absl::StrContains(variable("GLIBC_TUNABLES").value_or(""),
                           "glibc.malloc");
}

// Needs the cache's directory.
absl::Status read_autotune(Config& config) {
  config.autotune = !variable("HOROVOD_FUSION_THRESHOLD").has_value();
  bool is_wanted = true;
  HVD_RETURN_IF_ERROR(read_flag("HOROVOD_AUTOTUNE", is_wanted));
  config.autotune = config.autotune && is_wanted;
  config.autotune_log = variable("HOROVOD_AUTOTUNE_LOG").value_or("");
  HVD_RETURN_IF_ERROR(read_count("HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE",
                                 config.autotune_steps, 1000));
  config.autotune_steps = std::max(config.autotune_steps, 1);
  HVD_RETURN_IF_ERROR(
      read_count("HOROVOD_AUTOTUNE_WARMUP_SAMPLES", config.autotune_warm_ups));
  HVD_RETURN_IF_ERROR(read_count("HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES",
                                 config.autotune_trials));
  // Empty, it turns the memory off: variable() takes that for unset.
  const char* const folder = std::getenv("HOROVODPP_TUNING_CACHE");
  config.tuning_cache = folder == nullptr ? config.cache_dir : folder;
  return absl::OkStatus();
}

absl::Status read_metrics(Config::Metrics& metrics) {
  HVD_RETURN_IF_ERROR(read_flag("HOROVODPP_METRICS", metrics.count));
  metrics.file = variable("HOROVODPP_METRICS_FILE").value_or("");
  HVD_RETURN_IF_ERROR(
      read_duration("HOROVODPP_METRICS_INTERVAL", {}, metrics.interval));
  // Without a pause, the file's thread would take a core.
  metrics.interval =
      std::max<std::chrono::nanoseconds>(metrics.interval, kLeastInterval);
  HVD_RETURN_IF_ERROR(read_count("HOROVODPP_METRICS_PORT", metrics.port));
  metrics.address =
      variable("HOROVODPP_METRICS_ADDRESS").value_or(metrics.address);
  return absl::OkStatus();
}

}  // namespace

StatusOr<Config> Config::from_env() {
  Config config;
  config.unsupported = unsupported_settings();
  HVD_RETURN_IF_ERROR(read_launch(config));
  config.mpi_module = variable("HOROVODPP_MPI_MODULE").value_or("");
  config.mpi_launcher = launcher_of_mpi();
  if (const auto name = variable("HOROVODPP_RENDEZVOUS")) {
    config.rendezvous = *name;
    config.job_key = variable("HOROVODPP_JOB_KEY").value_or("");
    HVD_RETURN_IF_ERROR(read_count("HOROVOD_RANK", config.rank));
    HVD_RETURN_IF_ERROR(read_count("HOROVODPP_ELASTIC", config.max_ranks));
    HVD_RETURN_IF_ERROR(read_flag("HOROVODPP_JOIN", config.is_newcomer));
  }
  if (const auto names = variable("HOROVODPP_INTERFACES")) {
    config.interfaces = absl::StrSplit(*names, ',', absl::SkipEmpty());
  }
  if (const auto name = variable("HOROVODPP_TRANSPORT")) {
    if (*name != "tcp" && *name != "ucx") {
      return unreadable("HOROVODPP_TRANSPORT", *name, "tcp or ucx");
    }
    config.transport = *name;
  }
  HVD_RETURN_IF_ERROR(
      read_duration("HOROVOD_START_TIMEOUT", {}, config.start_timeout));
  HVD_RETURN_IF_ERROR(
      read_count("HOROVOD_FUSION_THRESHOLD", config.fusion_threshold));
  // A longer delay would look like a hang.
  HVD_RETURN_IF_ERROR(read_duration("HOROVOD_CYCLE_TIME",
                                    {.of = std::chrono::milliseconds(1),
                                     .name = "milliseconds",
                                     .most = 60'000},
                                    config.cycle_time));
  // Each name takes up to 24 bytes in its node's shared memory.
  HVD_RETURN_IF_ERROR(read_count(
      "HOROVOD_CACHE_CAPACITY", config.cache_capacity, std::uint32_t{1} << 20));
  config.timeline = variable("HOROVOD_TIMELINE").value_or("");
  if (absl::EqualsIgnoreCase(config.timeline, "dynamic")) {
    config.timeline.clear();
  }
  HVD_RETURN_IF_ERROR(
      read_flag("HOROVOD_TIMELINE_MARK_CYCLES", config.timeline_mark_cycles));
  HVD_RETURN_IF_ERROR(
      read_count("HOROVODPP_SUMMARY_STEPS", config.summary_steps));
  HVD_RETURN_IF_ERROR(
      read_flag("HOROVODPP_TIMELINE_PARTS", config.timeline_parts));
  HVD_RETURN_IF_ERROR(read_metrics(config.metrics));
  bool groups_alone = false;
  HVD_RETURN_IF_ERROR(read_flag("HOROVOD_DISABLE_GROUP_FUSION", groups_alone));
  config.fuse_groups = !groups_alone;
  HVD_RETURN_IF_ERROR(read_count("HOROVODPP_STEPS_BEFORE_SCHEDULE",
                                 config.steps_before_schedule));
  HVD_RETURN_IF_ERROR(read_flag("HOROVODPP_STRICT_JOIN", config.strict_join));
  HVD_RETURN_IF_ERROR(read_stall_check(config));
  HVD_RETURN_IF_ERROR(
      read_heartbeat("HOROVODPP_HEARTBEAT_SECONDS", config.heartbeat_deadline));
  HVD_RETURN_IF_ERROR(read_flag("HOROVOD_HIERARCHICAL_ALLREDUCE",
                                config.hierarchical_allreduce));
  HVD_RETURN_IF_ERROR(read_flag("HOROVOD_HIERARCHICAL_ALLGATHER",
                                config.hierarchical_allgather));
  HVD_RETURN_IF_ERROR(
      read_cores("HOROVOD_THREAD_AFFINITY", config.thread_affinity));
  HVD_RETURN_IF_ERROR(read_num_threads(config.num_threads));
  HVD_RETURN_IF_ERROR(read_log_level("HOROVOD_LOG_LEVEL", config.log.level));
  HVD_RETURN_IF_ERROR(read_flag("HOROVOD_LOG_HIDE_TIME", config.log.hide_time));
  HVD_RETURN_IF_ERROR(
      read_count("HOROVODPP_RANKS_PER_NODE", config.ranks_per_node));
  config.measure_crossovers = true;
  HVD_RETURN_IF_ERROR(
      read_flag("HOROVODPP_MEASURE_CROSSOVERS", config.measure_crossovers));
  config.cache_dir = cache_directory();
  HVD_RETURN_IF_ERROR(read_autotune(config));
  HVD_RETURN_IF_ERROR(read_count("HOROVODPP_ARENA_LIMIT", config.arena_limit));
  HVD_RETURN_IF_ERROR(
      read_flag("HOROVODPP_ARENA_READ_ONLY", config.arena_read_only));
  config.cuda_library =
      variable("HOROVODPP_CUDA_LIBRARY").value_or(config.cuda_library);
  HVD_RETURN_IF_ERROR(read_flag("HOROVODPP_CUDA_IPC", config.cuda_ipc));
  config.nccl_library =
      variable("HOROVODPP_NCCL_LIBRARY").value_or(config.nccl_library);
  HVD_RETURN_IF_ERROR(read_gpu_operations(config.by_nccl));
  HVD_RETURN_IF_ERROR(
      read_flag("NCCL_MULTI_RANK_GPU_ENABLE", config.nccl_shares_gpus));
  config.launcher = variable("HOROVODPP_LAUNCHER").value_or("");
  config.flight_recorder = number_in("HOROVODPP_FLIGHT_RECORDER").value_or(-1);
  config.is_watched =
      !config.launcher.empty() && variable("HOROVODPP_WATCH").has_value();
  if (const auto schedule = variable("HOROVODPP_FAILPOINTS")) {
    config.failpoints = *schedule;
    HVD_RETURN_IF_ERROR(read_count("HOROVOD_RANK", config.rank));
  }
  config.malloc_is_tuned = tunes_malloc();
  return config;
}

}  // namespace hvd
