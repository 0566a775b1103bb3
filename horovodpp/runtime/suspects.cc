#include "horovodpp/runtime/suspects.h"

#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "horovodpp/coordinator/stall_inspector.h"
#include "horovodpp/core/rank_news.h"

namespace hvd::runtime {
namespace {

// Whether it is a rank of this job.
bool is_of(const RankNews::Named& named, const Topology& topology) {
  if (named.rank < 0 || named.rank >= topology.size()) return false;
  const Peer& peer = topology.peer(named.rank);
  return peer.host == named.host && peer.pid == named.pid;
}

}  // namespace

std::vector<int> suspects_in(absl::string_view why, const Topology& topology) {
  constexpr absl::string_view kRank = "rank ";
  std::set<int> suspects;
  for (std::size_t at = why.find(kRank); at != absl::string_view::npos;
       at = why.find(kRank, at + 1)) {
    absl::string_view rest = why.substr(at);
    const std::optional<RankNews::Named> named = take_named(&rest);
    if (!named || !is_of(*named, topology)) continue;
    // What is said of it, up to where the next one begins.
    const absl::string_view said = rest.substr(0, rest.find(kRank));
    if (absl::StrContains(said, coordinator::kDoesNotAnswer)) {
      suspects.insert(named->rank);
    } else if (absl::StrContains(said, kNodeIsSilent)) {
      for (int other = 0; other < topology.size(); ++other) {
        if (topology.peer(other).node == topology.peer(named->rank).node) {
          suspects.insert(other);
        }
      }
    }
  }
  suspects.erase(topology.rank());
  return {suspects.begin(), suspects.end()};
}

}  // namespace hvd::runtime
