// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/distributed/replica_check.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/status.h"
#include "horovodpp/optim/distributed/checksum.h"

namespace hvd::optim {
namespace {

using Row = std::vector<std::int64_t>;  // Rank and numbers.

std::vector<Row> gathered(replica::GradientReducer& reducer, const char* key,
                          const Row& mine) {
  const std::vector<std::int64_t> all = reducer.gather(key, mine);
  std::vector<Row> rows;
  for (auto at = all.begin(); at != all.end();
       at += static_cast<std::ptrdiff_t>(mine.size())) {
    rows.emplace_back(at, at + static_cast<std::ptrdiff_t>(mine.size()));
  }
  return rows;
}

bool are_equal(const std::vector<Row>& rows, std::size_t column) {
  return std::all_of(rows.begin(), rows.end(), [&](const Row& row) {
    return row[column] == rows.front()[column];
  });
}

// The ranks that differ from the majority. Among equally large groups, the
// group of the first rank is the majority.
std::vector<std::int64_t> minority(const std::vector<Row>& rows,
                                   std::size_t column) {
  std::map<std::int64_t, int> counts;
  for (const Row& row : rows) ++counts[row[column]];
  std::int64_t usual = rows.front()[column];
  for (const Row& row : rows) {
    if (counts[row[column]] > counts[usual]) usual = row[column];
  }
  std::vector<std::int64_t> ranks;
  for (const Row& row : rows) {
    if (row[column] != usual) ranks.push_back(row[0]);
  }
  return ranks;
}

}  // namespace

void check_replicas(const std::vector<nn::NamedTensor>& parameters,
                    replica::GradientReducer& reducer, std::int64_t step) {
  Row mine = {reducer.rank()};
  std::uint64_t all = 0;
  for (const auto& [name, tensor] : parameters) {
    const std::uint64_t one = checksum(tensor);
    mine.push_back(static_cast<std::int64_t>(one));
    all = combined(all, one);
  }
  const std::vector<Row> rows =
      gathered(reducer, "(check)", {mine[0], static_cast<std::int64_t>(all)});
  if (are_equal(rows, 1)) return;
  const std::vector<Row> details = gathered(reducer, "(parameters)", mine);
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    if (are_equal(details, p + 1)) continue;
    const auto ranks = minority(details, p + 1);
    throw Error(absl::DataLossError(absl::StrCat(
        "after step ", step, " the parameters are not the same on all ranks: '",
        parameters[p].name, "' is the first that differs, on rank",
        ranks.size() == 1 ? " " : "s ", absl::StrJoin(ranks, ", "),
        " from the others. Begin with broadcast_parameters(), and change "
        "parameters on all ranks alike")));
  }
}

}  // namespace hvd::optim
