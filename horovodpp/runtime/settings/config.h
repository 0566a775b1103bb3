// SPDX-License-Identifier: Apache-2.0
// A Config holds every setting of a job that can be changed from outside. The
// library reads the environment only in Config::from_env(); programs may fill a
// Config themselves.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"
#include "horovodpp/telemetry/log.h"

namespace HVD_EXPORT hvd {

struct Config {
  // The number of ranks that the launcher promised; 0: unknown. From
  // HOROVOD_SIZE, else OMPI_COMM_WORLD_SIZE or PMI_SIZE, else a scheduler's
  // variable (SLURM_STEP_NUM_TASKS and the like). A job of another size does
  // not start.
  int expected_size = 0;

  // HOROVODPP_RENDEZVOUS and HOROVOD_RANK: a name and the number of this rank,
  // for ranks that a launcher started on one machine without MPI. They find
  // each other by the name. "": they use MPI. The tasks of an srun step on one
  // node, without a PMI, have a name, too: from SLURM_JOB_ID and SLURM_STEP_ID,
  // with SLURM_PROCID as the rank.
  //
  // "tcp:HOST:PORT" is for ranks on several hosts: rank 0 runs on HOST, and
  // serves the meeting at PORT. At "launcher:HOST:PORT" horovodrun serves it;
  // HOST may be several numeric addresses, separated by commas. At "file:PATH",
  // rank 0 writes the meeting's address and the key into a file of a shared
  // file system.
  std::string rendezvous;
  int rank = 0;
  // HOROVODPP_JOB_KEY: the secret by which ranks that meet by TCP know each
  // other, 64 hexadecimal digits.
  std::string job_key;
  // HOROVODPP_ELASTIC: the largest number of ranks of an elastic job, which
  // processes may join that horovodrun starts later; 0: the job does not grow.
  // HOROVODPP_JOIN: whether this process is one of them. It then waits until
  // the job admits it (grow()), for any time. Set by horovodrun.
  int max_ranks = 0;
  bool is_newcomer = false;
  // HOROVODPP_INTERFACES: the network interfaces, separated by commas, for
  // connections by TCP. Empty: all.
  std::vector<std::string> interfaces;

  // HOROVODPP_TRANSPORT: how tensors travel between ranks that meet by TCP:
  // "tcp", or "ucx" for UCX, which uses RDMA where the hosts have it. The module
  // for UCX is then loaded. Mail, heartbeats and the detection of deaths stay
  // with TCP. Equal on all ranks.
  std::string transport = "tcp";

  // Whether a launcher started this process as a rank: HOROVOD_SIZE above 1, or
  // one of OMPI_COMM_WORLD_SIZE, PMIX_RANK, PMI_SIZE, PMI_CONTROL_PORT and
  // HOROVODPP_RENDEZVOUS. If not, and if the program has not initialized MPI
  // itself, the process is a job of one, without MPI.
  bool launched = false;

  // "srun started this process as task 1 of 2 (SLURM_PROCID,
  // SLURM_STEP_NUM_TASKS)". Set if a scheduler started several tasks and none
  // of the variables above says how they find each other. They find each other
  // by the rendezvous, if there is one. Otherwise a job of one is an error,
  // unless HOROVOD_SIZE=1.
  std::string scheduled = {};

  // HOROVODPP_MPI_MODULE: the file of the MPI module; "": the library looks
  // beside itself. mpi_launcher is the launcher as in the module's name:
  // "openmpi4", "openmpi5", "mpich"; "": unknown.
  std::string mpi_module = {};
  std::string mpi_launcher = {};

  // HOROVOD_START_TIMEOUT (seconds): how long ranks wait for each other at
  // start.
  std::chrono::nanoseconds start_timeout = std::chrono::seconds(30);

  // HOROVOD_FUSION_THRESHOLD (bytes): small tensors are reduced together up to
  // this size; 0: no fusion. Equal on all ranks.
  std::size_t fusion_threshold = 128u << 20;

  // HOROVOD_CYCLE_TIME (milliseconds): the longest that a batch below the
  // threshold waits for more tensors; at most a minute. Equal on all ranks.
  std::chrono::nanoseconds cycle_time{0};

  // HOROVOD_AUTOTUNE: whether the order and the batches of repeated steps are
  // tuned, by measurements while the job runs. Off, too, if the user sets
  // HOROVOD_FUSION_THRESHOLD, which then decides. From the environment: on.
  // Equal on all ranks, as HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE is: the steps of a
  // measurement.
  //
  // HOROVOD_AUTOTUNE_WARMUP_SAMPLES: measurements before the first change;
  // HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES: the most changes that are tried;
  // HOROVOD_AUTOTUNE_LOG: a file in which rank 0 notes the measurements.
  bool autotune = false;
  int autotune_steps = 5;
  int autotune_warm_ups = 0;
  int autotune_trials = 20;
  std::string autotune_log = {};  // Empty: none.
  // HOROVODPP_TUNING_CACHE: the folder in which rank 0 keeps what was found for
  // later jobs; empty: nowhere. From the environment, if not set: cache_dir.
  std::string tuning_cache = {};

  // HOROVOD_CACHE_CAPACITY: the number of remembered names; 0: none. The ranks
  // agree on a name beyond that number at each call. Equal on all ranks.
  std::uint32_t cache_capacity = 1u << 17;

  // HOROVOD_DISABLE_GROUP_FUSION: false if the variable is set; each group is
  // then executed as one, without other tensors. Equal on all ranks.
  bool fuse_groups = true;

  // HOROVODPP_STEPS_BEFORE_SCHEDULE: after this number of equal steps their
  // order is fixed, and ranks do not negotiate until one rank departs from it;
  // 0: never. Equal on all ranks.
  int steps_before_schedule = 3;

  // HOROVODPP_STRICT_JOIN: while a rank has joined, the others may only
  // allreduce, as in Horovod. Their allgather, broadcast and reducescatter,
  // which otherwise work, then fail. Equal on all ranks.
  bool strict_join = false;

  // Process sets that exist from the start, as numbers 1, 2, …: the ranks of
  // each. Sets may be added and removed at any time. (Horovod requires
  // HOROVOD_DYNAMIC_PROCESS_SETS=1 for that; here the variable has no effect.)
  // Equal on all ranks.
  std::vector<std::vector<int>> process_sets = {};

  // Equal on all ranks:
  // - HOROVOD_STALL_CHECK_TIME_SECONDS: when a submission has waited this long,
  //   the log names the missing ranks; 0: never.
  // - HOROVOD_STALL_SHUTDOWN_TIME_SECONDS: when the job is given up, with or
  //   without a warning; 0: never. If it is not set and the other variable is
  //   0: never.
  // - HOROVOD_STALL_CHECK_DISABLE: neither, ever.
  std::chrono::nanoseconds stall_warning_time = std::chrono::seconds(60);
  std::chrono::nanoseconds stall_shutdown_time = std::chrono::seconds(600);

  // HOROVODPP_HEARTBEAT_SECONDS: a link between nodes may be down for nearly as
  // long; a node that stays silent for a second longer is lost. Above 0. Equal
  // on all ranks.
  std::chrono::nanoseconds heartbeat_deadline = std::chrono::seconds(4);

  // HOROVOD_HIERARCHICAL_ALLREDUCE, HOROVOD_HIERARCHICAL_ALLGATHER, for process
  // sets of several nodes, at least one of which has several members. If true,
  // these operations (and reducescatter as allreduce) use shared memory within
  // a node, and all ranks of a node send to other nodes at once. A byte then
  // crosses between two nodes once, for any number of ranks, and is in no
  // message within a node. If false, each rank sends to each (an allgather: in
  // a ring). Default: on (Horovod: off). Equal on all ranks.
  bool hierarchical_allreduce = true;
  bool hierarchical_allgather = true;

  // HOROVOD_THREAD_AFFINITY: comma-separated list of cores, one per local rank,
  // to which the background threads are pinned; empty: not pinned.
  std::vector<int> thread_affinity = {};

  // HOROVODPP_NUM_THREADS, or else OMP_NUM_THREADS if it is one number: the
  // number of threads that a tensor operation may use. A program may set it
  // (core/thread/threads.h). 0: its share of the node's cores. Overrules
  // settings of libraries, such as OPENBLAS_NUM_THREADS.
  int num_threads = 0;

  // HOROVOD_LOG_LEVEL (trace, debug, info, warning, error, fatal) and
  // HOROVOD_LOG_HIDE_TIME.
  telemetry::Log::Options log = {};

  // HOROVODPP_RANKS_PER_NODE: splits one machine into nodes of this many ranks
  // each, to exercise the paths between nodes; 0: the real nodes. Equal on all
  // ranks.
  int ranks_per_node = 0;

  // HOROVODPP_MEASURE_CROSSOVERS: whether ranks of a node measure its memory at
  // the start of the job, to find the size from which each path is faster. That
  // takes little more than 60 ms. Built-in values apply if not, and if ranks
  // outnumber cores or have lost other ranks. From the environment: on. Equal
  // on all ranks.
  bool measure_crossovers = false;

  // Whether the ranks of a node ask for huge pages for the memory that they
  // share, which may take milliseconds. Off for ranks that have lost others.
  bool huge_pages = true;

  // HOROVODPP_CACHE_DIR: where jobs store measurements of a machine for later
  // jobs. Empty: nowhere. From the environment, if not set: horovodpp in
  // $XDG_CACHE_HOME, or else in ~/.cache.
  std::string cache_dir = {};

  // HOROVODPP_ARENA_LIMIT: the maximal size of this rank's arena in bytes of
  // shared memory; 0: no arena.
  std::size_t arena_limit = static_cast<std::size_t>(-1);

  // HOROVODPP_ARENA_READ_ONLY: ranks only read each other's arenas, and copy
  // results. A rank that writes past its tensors then crashes itself. Slower;
  // for finding bugs. Equal on all ranks.
  bool arena_read_only = false;

  // HOROVODPP_CUDA_LIBRARY: the CUDA driver's library, if the system's default
  // is not the right one. Loaded once per process, with the first tensor on a
  // GPU.
  std::string cuda_library = "libcuda.so.1";

  // HOROVODPP_CUDA_IPC: whether tensors on GPUs of one node are reduced in
  // place, through memory that ranks share, if the GPUs can. Equal on all
  // ranks.
  bool cuda_ipc = true;

  // HOROVODPP_NCCL_LIBRARY: NCCL's library, if the system's default is not the
  // right one. Loaded with the first tensor on a GPU.
  std::string nccl_library = "libnccl.so.2";

  // HOROVOD_GPU_OPERATIONS, and for single operations HOROVOD_GPU_ALLREDUCE,
  // _ALLGATHER, _BROADCAST, _ALLTOALL, _REDUCESCATTER: NCCL (default) or MPI.
  // With MPI tensors on GPUs go through the host; with NCCL only where NCCL
  // cannot be used. Equal on all ranks.
  struct ByNccl {
    bool allreduce = true;
    bool allgather = true;
    bool broadcast = true;
    bool alltoall = true;
    bool reducescatter = true;
  } by_nccl = {};

  // NCCL_MULTI_RANK_GPU_ENABLE: whether NCCL allows ranks to share a GPU.
  bool nccl_shares_gpus = false;

  // HOROVODPP_LAUNCHER: the socket on which horovodrun hears why a job broke
  // and that ranks go on; see LauncherChannel. Empty: none. Set by horovodrun.
  std::string launcher = {};

  // HOROVODPP_FLIGHT_RECORDER: a descriptor of memory for this rank's trace,
  // which the launcher reads if the rank fails; -1: the launcher offers none.
  // Set by horovodrun. Any other descriptor is ignored.
  int flight_recorder = -1;

  // HOROVODPP_WATCH: whether this rank reports its collectives to horovodrun
  // twice a second. Set by horovodrun --watch.
  bool is_watched = false;

  // HOROVODPP_FAILPOINTS: faults for tests; see core/system/failpoints.h.
  std::string failpoints = {};

  // Whether the user configures malloc(): MALLOC_TRIM_THRESHOLD_,
  // MALLOC_TOP_PAD_, MALLOC_MMAP_THRESHOLD_, MALLOC_MMAP_MAX_, or
  // GLIBC_TUNABLES with glibc.malloc. See keep_freed_memory().
  bool malloc_is_tuned = false;

  // HOROVOD_TIMELINE: the file for a timeline of this rank's operations; see
  // Runtime::start_timeline. Empty, also for "DYNAMIC": none until a program
  // starts one. HOROVOD_TIMELINE_MARK_CYCLES: see TimelineOptions.
  std::string timeline = {};
  bool timeline_mark_cycles = false;
  // HOROVODPP_TIMELINE_PARTS: whether ranks other than 0 write files as well,
  // "<timeline>.rank1", which horovodrun merges at the end. Set by horovodrun.
  bool timeline_parts = false;

  // HOROVODPP_SUMMARY_STEPS: rank 0 logs a line about each interval of so many
  // steps, and warns of slow ranks (telemetry/steps). 0: neither. See
  // Runtime::mark_step.
  int summary_steps = 0;

  // HOROVODPP_METRICS_FILE, HOROVODPP_METRICS_INTERVAL (seconds),
  // HOROVODPP_METRICS_PORT, HOROVODPP_METRICS_ADDRESS: where a rank's metrics go
  // beside Runtime::metrics(). The file is written once per interval and at the
  // job's end; "{rank}" in its name stands for the rank, and without it only
  // rank 0 writes. The ranks of a node serve HTTP at ascending ports, from this
  // one on, at the address. HOROVODPP_METRICS: whether to count from the start,
  // also without both.
  struct Metrics {
    bool count = false;
    std::string file = {};  // Empty: none.
    std::chrono::nanoseconds interval = std::chrono::seconds(15);
    std::uint16_t port = 0;  // 0: none.
    std::string address = "127.0.0.1";
  } metrics = {};

  // Names of set variables that are not supported. Rank 0 logs them.
  std::vector<std::string> unsupported = {};

  // The defaults, overridden by the environment.
  //   InvalidArgument  a variable cannot be read: names it, its text and its
  //                    valid values
  static StatusOr<Config> from_env();
};

}  // namespace hvd
