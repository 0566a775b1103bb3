// SPDX-License-Identifier: Apache-2.0
// Everything about a job that can be set from outside. Config::from_env() is
// the one place where the library reads the environment; programs may fill a
// Config by hand.
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
  // HOROVOD_SIZE, or else OMPI_COMM_WORLD_SIZE or PMI_SIZE, or else what a scheduler
  // says of its tasks (SLURM_STEP_NUM_TASKS and the like): the number of ranks the
  // launcher promised; 0: not told. A job that turns out to have another size does
  // not start.
  int expected_size = 0;

  // HOROVODPP_RENDEZVOUS and HOROVOD_RANK: by what name the ranks that a launcher
  // started on one machine find each other without MPI, and which of them this
  // is. "": they find each other by MPI.
  std::string rendezvous;
  int rank = 0;

  // Whether a launcher started this process as a rank: HOROVOD_SIZE above 1, or one
  // of OMPI_COMM_WORLD_SIZE, PMIX_RANK, PMI_SIZE, PMI_CONTROL_PORT and
  // HOROVODPP_RENDEZVOUS. If not, and if the program has not initialized MPI itself,
  // the process is a job of one, without MPI.
  bool launched = false;

  // "srun started this process as task 1 of 2 (SLURM_PROCID, SLURM_STEP_NUM_TASKS)",
  // where a scheduler started several tasks and none of the variables above says how
  // they find each other: a job of one is then an error. HOROVOD_SIZE=1 asks for it.
  std::string scheduled = {};

  // HOROVODPP_MPI_MODULE: the file of the module that speaks MPI; "": it is looked
  // for beside the library. And whose launcher it was, as that module's name says it:
  // "openmpi4", "openmpi5", "mpich"; "": not known.
  std::string mpi_module = {};
  std::string mpi_launcher = {};

  // HOROVOD_START_TIMEOUT (seconds): how long ranks wait for each other at
  // start.
  std::chrono::nanoseconds start_timeout = std::chrono::seconds(30);

  // HOROVOD_FUSION_THRESHOLD (bytes): small tensors are reduced together up to
  // this many bytes; 0: each by itself. Equal on all ranks.
  std::size_t fusion_threshold = 128u << 20;

  // HOROVOD_CYCLE_TIME (milliseconds): the longest a batch below the threshold
  // is held back to wait for company; at most a minute. Equal on all ranks.
  std::chrono::nanoseconds cycle_time{0};

  // HOROVOD_CACHE_CAPACITY: as many names are remembered; 0: none. Any other one
  // is agreed on whenever it comes. Equal on all ranks.
  std::uint32_t cache_capacity = 1u << 17;

  // HOROVOD_DISABLE_GROUP_FUSION: false if it is set; groups are then executed
  // alone, each as one. Equal on all ranks.
  bool fuse_groups = true;

  // After so many equal steps their order is fixed, and no rank asks the others
  // any more, until one leaves it. HOROVODPP_STEPS_BEFORE_SCHEDULE; 0: never.
  // Equal on all ranks.
  int steps_before_schedule = 3;

  // HOROVODPP_STRICT_JOIN: while a rank has joined, others may only allreduce, as in
  // Horovod; allgather, broadcast and reducescatter fail, which work otherwise. Equal
  // on all ranks.
  bool strict_join = false;

  // Process sets that exist from the start, as numbers 1, 2, …: the ranks of
  // each. Others may be added and removed at any time. (Horovod asks for
  // HOROVOD_DYNAMIC_PROCESS_SETS=1 first; here it changes nothing.) Equal on
  // all ranks.
  std::vector<std::vector<int>> process_sets = {};

  // HOROVOD_STALL_CHECK_TIME_SECONDS: when a submission has waited so long for
  // other ranks, the log says for which; 0: never.
  // HOROVOD_STALL_SHUTDOWN_TIME_SECONDS: when the job is given up, warned of or
  // not; 0: never; where it is not set and the other is 0: never, too.
  // HOROVOD_STALL_CHECK_DISABLE: neither, ever. Equal on all ranks.
  std::chrono::nanoseconds stall_warning_time = std::chrono::seconds(60);
  std::chrono::nanoseconds stall_shutdown_time = std::chrono::seconds(600);

  // HOROVODPP_HEARTBEAT_SECONDS: a node that is not heard of for so long is
  // lost. Above 0. Equal on all ranks.
  std::chrono::nanoseconds heartbeat_deadline = std::chrono::seconds(4);

  // HOROVOD_HIERARCHICAL_ALLREDUCE, HOROVOD_HIERARCHICAL_ALLGATHER: in a process
  // set of several nodes, at least one with several members, these (and
  // reducescatter as allreduce) go through shared memory within the nodes, and
  // between them by all ranks of each at once; if not, from each rank to each
  // (an allgather: in a ring). On (Horovod: off), as then a byte crosses between
  // two nodes once, whatever their number of ranks, and is in no message within
  // a node. Equal on all ranks.
  bool hierarchical_allreduce = true;
  bool hierarchical_allgather = true;

  // HOROVOD_THREAD_AFFINITY: comma list of cores, one per local rank, to which
  // the background threads are pinned; empty: not pinned.
  std::vector<int> thread_affinity = {};

  // HOROVODPP_NUM_THREADS, or else OMP_NUM_THREADS if it is one number: how many
  // threads an operation on tensors may use in itself, unless the program says
  // so (core/threads.h); 0: its share of the cores of the node. Overrules what
  // is set for the libraries it computes with, such as OPENBLAS_NUM_THREADS.
  int num_threads = 0;

  // HOROVOD_LOG_LEVEL (trace, debug, info, warning, error, fatal) and
  // HOROVOD_LOG_HIDE_TIME.
  telemetry::Log::Options log = {};

  // HOROVODPP_RANKS_PER_NODE: splits one machine into nodes of so many ranks
  // each, to exercise the paths between nodes; 0: the real nodes. Equal on all
  // ranks.
  int ranks_per_node = 0;

  // HOROVODPP_MEASURE_CROSSOVERS: whether ranks that share a node measure, when
  // the job starts, from which size on which way through its memory is the
  // faster one (in 60 ms and little more); if not, and where ranks outnumber
  // cores or have lost others, built-in values hold. From the environment: on.
  // Equal on all ranks.
  bool measure_crossovers = false;

  // HOROVODPP_CACHE_DIR: where jobs leave what they have measured of a machine,
  // so that the next one need not. Empty: nowhere. From the environment, where
  // it is not set: horovodpp in $XDG_CACHE_HOME, or else in ~/.cache.
  std::string cache_dir = {};

  // HOROVODPP_ARENA_LIMIT: bytes of shared memory that this rank's arena takes at
  // most; 0: it has none.
  std::size_t arena_limit = static_cast<std::size_t>(-1);

  // HOROVODPP_ARENA_READ_ONLY: ranks only read each other's arenas, and copy
  // results, so that a rank that writes past its tensors ends itself. Slower, to
  // find faults with. Equal on all ranks.
  bool arena_read_only = false;

  // HOROVODPP_CUDA_LIBRARY: the CUDA driver's library, where it is not the one that
  // the system finds; loaded when a tensor on a GPU is first seen, once per process.
  std::string cuda_library = "libcuda.so.1";

  // HOROVODPP_CUDA_IPC: whether tensors on GPUs of one node are reduced where they are,
  // by memory that ranks share, where the GPUs can. Equal on all ranks.
  bool cuda_ipc = true;

  // HOROVODPP_NCCL_LIBRARY: NCCL's library, where it is not the one that the system
  // finds; loaded when a tensor on a GPU is first seen.
  std::string nccl_library = "libnccl.so.2";

  // HOROVOD_GPU_OPERATIONS, and for one of them HOROVOD_GPU_ALLREDUCE, _ALLGATHER,
  // _BROADCAST, _ALLTOALL, _REDUCESCATTER: NCCL or MPI. With MPI tensors on GPUs go by
  // way of the host; with NCCL, the default, they do where it cannot be used. Equal on
  // all ranks.
  struct ByNccl {
    bool allreduce = true;
    bool allgather = true;
    bool broadcast = true;
    bool alltoall = true;
    bool reducescatter = true;
  } by_nccl = {};

  // NCCL_MULTI_RANK_GPU_ENABLE: NCCL itself is told that ranks may share a GPU.
  bool nccl_shares_gpus = false;

  // HOROVODPP_LAUNCHER: the socket on which horovodrun hears why a job broke and
  // that ranks go on; see LauncherChannel. Empty: none. Set by horovodrun.
  std::string launcher = {};

  // MALLOC_TRIM_THRESHOLD_, MALLOC_TOP_PAD_, MALLOC_MMAP_THRESHOLD_, MALLOC_MMAP_MAX_,
  // or GLIBC_TUNABLES that name glibc.malloc: the user tells malloc() what to do with
  // freed memory; see keep_freed_memory().
  bool malloc_is_tuned = false;

  // What the environment asks for and is not there: names of variables. Rank 0
  // says so.
  std::vector<std::string> unsupported = {};

  // The defaults, overridden by the environment.
  //   InvalidArgument  a variable cannot be read: names it, its text and what
  //   it takes
  static StatusOr<Config> from_env();
};

}  // namespace hvd
