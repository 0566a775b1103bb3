#include "horovodpp/runtime/suspects.h"

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "horovodpp/coordinator/inquiry.h"
#include "horovodpp/core/rank_news.h"

namespace hvd::runtime {

std::vector<int> suspects_in(absl::string_view why, const Topology& topology) {
  constexpr absl::string_view kRank = "rank ";
  std::set<int> suspects;
  for (std::size_t at = why.find(kRank); at != absl::string_view::npos;
       at = why.find(kRank, at + 1)) {
    absl::string_view rest = why.substr(at);
    rest.remove_prefix(kRank.size());
    int named = -1;
    if (!absl::SimpleAtoi(rest.substr(0, rest.find(' ')), &named) ||
        named < 0 || named >= topology.size()) {
      continue;
    }
    rest = why.substr(at);
    if (!absl::ConsumePrefix(&rest, topology.describe(named))) continue;
    // What is said of it, up to where the next one begins.
    const absl::string_view said = rest.substr(0, rest.find(kRank));
    if (absl::StrContains(said, coordinator::kDoesNotAnswer)) {
      suspects.insert(named);
    } else if (absl::StrContains(said, kNodeIsSilent)) {
      for (int other = 0; other < topology.size(); ++other) {
        if (topology.peer(other).node == topology.peer(named).node) {
          suspects.insert(other);
        }
      }
    }
  }
  suspects.erase(topology.rank());
  return {suspects.begin(), suspects.end()};
}

}  // namespace hvd::runtime
