#include "horovodpp/runtime/start_up.h"

#include <pthread.h>
#include <sched.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "horovodpp/core/status.h"
#include "horovodpp/transport/mpi_communicator.h"

namespace hvd::runtime {

absl::StatusOr<std::unique_ptr<transport::Communicator>> make_communicator(
    const Config& config) {
  if (config.launched || transport::mpi_is_running()) {
    return transport::make_mpi_communicator(
        {.expected_size = config.expected_size,
         .ranks_per_node = config.ranks_per_node,
         .deadline = std::chrono::steady_clock::now() + config.start_timeout});
  }
  return transport::make_solo_communicator();
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
  const std::vector<std::string> mine = {
      absl::StrCat("HOROVOD_FUSION_THRESHOLD=", config.fusion_threshold),
      absl::StrCat("HOROVOD_CACHE_CAPACITY=", config.cache_capacity),
      absl::StrCat(
          "HOROVOD_CYCLE_TIME=",
          std::chrono::duration<double, std::milli>(config.cycle_time).count()),
      absl::StrCat("HOROVODPP_RANKS_PER_NODE=", config.ranks_per_node)};
  HVD_ASSIGN_OR_RETURN(
      const std::vector<std::string> all,
      communicator.exchange(absl::StrJoin(mine, "\n"), deadline));
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
  return absl::OkStatus();
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
