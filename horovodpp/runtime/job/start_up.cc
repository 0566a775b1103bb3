// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/job/start_up.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "horovodpp/coordinator/protocol/process_sets.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/clock.h"
#include "horovodpp/transport/loading/mpi_module.h"
#include "horovodpp/transport/loading/ucx_module.h"
#include "horovodpp/transport/local/communicator.h"
#include "horovodpp/transport/loopback/loopback.h"
#include "horovodpp/transport/tcp/communicator.h"

namespace hvd::runtime {

namespace {

std::string in_seconds(std::chrono::nanoseconds time) {
  return absl::StrCat(std::chrono::duration<double>(time).count());
}

// In any order of its ranks a process set is the same one.
std::string process_sets_of(const Config& config) {
  std::vector<std::string> sets;
  for (std::vector<int> ranks : config.process_sets) {
    std::sort(ranks.begin(), ranks.end());
    sets.push_back(absl::StrCat("[", absl::StrJoin(ranks, ", "), "]"));
  }
  return absl::StrCat("[", absl::StrJoin(sets, ", "), "]");
}

const char* by_nccl(bool is_so) { return is_so ? "NCCL" : "MPI"; }

}  // namespace

std::vector<std::string> common_settings(const Config& config) {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  return {
      // First; see transport/loading/ucx_exchange.cc.
      absl::StrCat("HOROVODPP_TRANSPORT=", config.transport),
      absl::StrCat("HOROVOD_FUSION_THRESHOLD=", config.fusion_threshold),
      absl::StrCat("HOROVOD_AUTOTUNE=", config.autotune ? 1 : 0),
      absl::StrCat("HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE=", config.autotune_steps),
      absl::StrCat("HOROVOD_CACHE_CAPACITY=", config.cache_capacity),
      absl::StrCat("HOROVOD_CYCLE_TIME=",
                   Milliseconds(config.cycle_time).count()),
      absl::StrCat("HOROVOD_DISABLE_GROUP_FUSION=", config.fuse_groups ? 0 : 1),
      absl::StrCat("HOROVODPP_STEPS_BEFORE_SCHEDULE=",
                   config.steps_before_schedule),
      absl::StrCat("HOROVODPP_STRICT_JOIN=", config.strict_join ? 1 : 0),
      absl::StrCat("process_sets=", process_sets_of(config)),
      absl::StrCat("HOROVOD_STALL_CHECK_TIME_SECONDS=",
                   in_seconds(config.stall_warning_time)),
      absl::StrCat("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=",
                   in_seconds(config.stall_shutdown_time)),
      absl::StrCat("HOROVODPP_HEARTBEAT_SECONDS=",
                   in_seconds(config.heartbeat_deadline)),
      absl::StrCat("HOROVOD_HIERARCHICAL_ALLREDUCE=",
                   config.hierarchical_allreduce ? 1 : 0),
      absl::StrCat("HOROVOD_HIERARCHICAL_ALLGATHER=",
                   config.hierarchical_allgather ? 1 : 0),
      absl::StrCat("HOROVOD_GPU_ALLREDUCE=", by_nccl(config.by_nccl.allreduce)),
      absl::StrCat("HOROVOD_GPU_ALLGATHER=", by_nccl(config.by_nccl.allgather)),
      absl::StrCat("HOROVOD_GPU_BROADCAST=", by_nccl(config.by_nccl.broadcast)),
      absl::StrCat("HOROVOD_GPU_ALLTOALL=", by_nccl(config.by_nccl.alltoall)),
      absl::StrCat("HOROVOD_GPU_REDUCESCATTER=",
                   by_nccl(config.by_nccl.reducescatter)),
      absl::StrCat("HOROVODPP_RANKS_PER_NODE=", config.ranks_per_node),
      absl::StrCat("HOROVODPP_MEASURE_CROSSOVERS=",
                   config.measure_crossovers ? 1 : 0),
      absl::StrCat("HOROVODPP_ARENA_READ_ONLY=",
                   config.arena_read_only ? 1 : 0),
      absl::StrCat("HOROVODPP_CUDA_IPC=", config.cuda_ipc ? 1 : 0),
      absl::StrCat("HOROVODPP_SUMMARY_STEPS=", config.summary_steps)};
}

namespace {

// A rendezvous that begins so is HOST:PORT, for ranks on several hosts. Rank 0
// serves the meeting, or the launcher does.
constexpr absl::string_view kByTcp = "tcp:";
constexpr absl::string_view kByLauncher = "launcher:";
// The path of a file follows, which all hosts share.
constexpr absl::string_view kByFile = "file:";
constexpr char kUcx[] = "ucx";

// Connects by TCP; the caller has set how the ranks meet.
absl::StatusOr<std::unique_ptr<transport::Communicator>> by_tcp(
    const Config& config, transport::TcpOptions options) {
  options.key = config.job_key;
  options.rank = config.rank;
  options.size = config.expected_size;
  options.ranks_per_node = config.ranks_per_node;
  options.interfaces = config.interfaces;
  options.deadline = deadline_after(config.start_timeout);
  HVD_ASSIGN_OR_RETURN(auto wires, transport::make_tcp_communicator(options));
  if (config.transport != kUcx) return wires;
  return transport::make_ucx_communicator(std::move(wires),
                                          {.deadline = options.deadline});
}

absl::StatusOr<std::unique_ptr<transport::Communicator>> join_without_mpi(
    const Config& config) {
  if (config.expected_size < 1) {
    return absl::InvalidArgumentError(
        "HOROVODPP_RENDEZVOUS is set, but not HOROVOD_SIZE, the number of "
        "ranks: start the ranks by horovodrun");
  }
  if (config.expected_size > 1 && transport::mpi_is_running()) {
    return absl::FailedPreconditionError(
        "the program has initialized MPI, but horovodrun started its ranks "
        "without MPI, so each rank is a world of its own: start them by "
        "horovodrun without --no-mpi");
  }
  absl::string_view place = config.rendezvous;
  const bool by_file = absl::ConsumePrefix(&place, kByFile);
  const bool by_launcher = absl::ConsumePrefix(&place, kByLauncher);
  if (by_file || by_launcher || absl::ConsumePrefix(&place, kByTcp)) {
    if (config.job_key.empty() && !by_file) {
      return absl::InvalidArgumentError(
          "HOROVODPP_RENDEZVOUS names a TCP port, but HOROVODPP_JOB_KEY is not "
          "set: give all ranks the same 64 hexadecimal digits, for instance "
          "from `openssl rand -hex 32`");
    }
    return by_tcp(config, {.server = std::string(by_file ? "" : place),
                           .rank_0_serves = !by_launcher,
                           .file = std::string(by_file ? place : "")});
  }
  return transport::make_local_communicator(
      {.rendezvous = config.rendezvous,
       .rank = config.rank,
       .size = config.expected_size,
       .ranks_per_node = config.ranks_per_node,
       .deadline = deadline_after(config.start_timeout)});
}

// Otherwise each task would silently train a model of its own.
absl::Status refuse_to_be_alone(const Config& config) {
  if (config.scheduled.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(config.scheduled,
                   ", but it cannot find the others: none of PMI_SIZE, "
                   "PMIX_RANK, OMPI_COMM_WORLD_SIZE and HOROVOD_SIZE is set. "
                   "Start the tasks with a PMI of your MPI (srun --mpi=pmix or "
                   "--mpi=pmi2; see srun --mpi=list), by horovodrun or by "
                   "mpirun. Or set HOROVOD_SIZE=1 to make each task a job "
                   "of its own"));
}

absl::Status check_process_sets(const Config& config, int size) {
  std::vector<int> all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  coordinator::ProcessSets sets(
      std::make_shared<const std::vector<int>>(std::move(all)));
  for (std::size_t i = 0; i < config.process_sets.size(); ++i) {
    HVD_RETURN_IF_ERROR(
        annotate(sets.check(config.process_sets[i]),
                 absl::StrCat("entry ", i, " of process_sets")));
    sets.add(static_cast<coordinator::ProcessSetId>(i + 1),
             config.process_sets[i]);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<transport::Communicator>> make_communicator(
    const Config& config) {
  const bool by_scheduler = !config.scheduled.empty();
  if (!config.rendezvous.empty() && !by_scheduler) {
    return join_without_mpi(config);
  }
  // A scheduler's tasks whose program runs MPI are a world to MPI, or get its
  // error.
  if (config.launched || transport::mpi_is_running()) {
    if (config.transport == kUcx) {
      return absl::InvalidArgumentError(
          "HOROVODPP_TRANSPORT=ucx is for ranks that meet by TCP "
          "(HOROVODPP_RENDEZVOUS=tcp:HOST:PORT), and these ranks meet by MPI, "
          "which moves their tensors itself; unset it");
    }
    return transport::make_mpi_communicator(
        {.expected_size = config.expected_size,
         .ranks_per_node = config.ranks_per_node,
         .deadline = std::chrono::steady_clock::now() + config.start_timeout},
        {.file = config.mpi_module, .launcher = config.mpi_launcher});
  }
  if (!config.rendezvous.empty()) return join_without_mpi(config);
  HVD_RETURN_IF_ERROR(refuse_to_be_alone(config));
  return transport::make_solo_communicator();
}

absl::StatusOr<std::unique_ptr<transport::Communicator>>
make_grown_communicator(const Config& config, std::uint32_t number,
                        const std::function<absl::Status()>& interrupt) {
  absl::string_view place = config.rendezvous;
  absl::ConsumePrefix(&place, kByLauncher);
  return by_tcp(config, {.server = std::string(place),
                         .rank_0_serves = false,
                         .growth = number,
                         .interrupt = interrupt});
}

absl::StatusOr<transport::RoomGuest::Server> room_of(const Config& config) {
  absl::string_view place = config.rendezvous;
  if (!absl::ConsumePrefix(&place, kByLauncher)) {
    return absl::FailedPreconditionError(
        "this job cannot grow: horovodrun starts elastic jobs with --min-np, "
        "--max-np or --spares");
  }
  HVD_ASSIGN_OR_RETURN(transport::JobKey key,
                       transport::JobKey::from_hex(config.job_key));
  HVD_ASSIGN_OR_RETURN(std::vector<transport::Endpoint> endpoints,
                       transport::parse_endpoints(std::string(place)));
  return transport::RoomGuest::Server{.endpoints = std::move(endpoints),
                                      .key = key};
}

absl::StatusOr<Topology> sharing_topology(
    const transport::Communicator& wires) {
  std::vector<Peer> peers = wires.peers();
  std::map<std::string, int> seen;
  for (Peer& peer : peers) {
    const int index = seen[peer.node]++;
    peer.node += absl::StrCat("/", index / transport::NodeSegment::kMaxRanks);
  }
  return Topology::from_peers(wires.rank(), std::move(peers));
}

absl::Status agree_on_config(const Config& config,
                             transport::Communicator& communicator,
                             std::chrono::steady_clock::time_point deadline) {
  HVD_ASSIGN_OR_RETURN(
      const std::vector<std::string> all,
      communicator.exchange(absl::StrJoin(common_settings(config), "\n"),
                            deadline));
  const std::vector<std::string> first = absl::StrSplit(all.front(), '\n');
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const std::vector<std::string> other = absl::StrSplit(all[rank], '\n');
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (i < other.size() && other[i] == first[i]) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "ranks are configured differently: rank 0 has ", first[i], ", rank ",
          rank, " has ", i < other.size() ? other[i] : "nothing",
          "; set it to the same value on every rank"));
    }
  }
  return check_process_sets(config, communicator.size());
}

absl::Status pin_thread(const Config& config, const Topology& topology) {
  if (config.thread_affinity.empty()) return absl::OkStatus();
  const auto local = static_cast<std::size_t>(topology.local_rank());
  if (config.thread_affinity.size() <
      static_cast<std::size_t>(topology.local_size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "HOROVOD_THREAD_AFFINITY names ", config.thread_affinity.size(),
        " cores for ", topology.local_size(),
        " ranks on this node; name one for each"));
  }
  cpu_set_t cores;
  CPU_ZERO(&cores);
  const int core = config.thread_affinity[local];
  if (core < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(core), &cores);
  if (pthread_setaffinity_np(pthread_self(), sizeof(cores), &cores) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("HOROVOD_THREAD_AFFINITY gives local rank ", local,
                     " core ", core, ", which this process may not use"));
  }
  return absl::OkStatus();
}

}  // namespace hvd::runtime
