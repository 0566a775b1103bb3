// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/inspection/memory_of_ranks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "horovodpp/replica/objects.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::optim {
namespace {

using Cells = std::vector<std::string>;

std::string megabytes(std::int64_t bytes) {
  return absl::StrFormat("%.2f", static_cast<double>(bytes) / 1e6);
}

// The columns, but that of the rank.
Cells heads(const MemoryReport& report) {
  Cells cells = {"peak"};
  for (const auto& [category, bytes] : report.categories) {
    cells.push_back(category);
  }
  cells.insert(cells.end(), {"arena", "staging"});
  return cells;
}

Cells row(const MemoryReport& report, const Runtime& runtime) {
  Cells cells = {megabytes(report.peak_bytes)};
  for (const auto& [category, bytes] : report.categories) {
    cells.push_back(megabytes(bytes));
  }
  const Runtime::Memory shared = runtime.memory();
  for (const std::size_t bytes : {shared.arena_peak, shared.staging}) {
    cells.push_back(megabytes(static_cast<std::int64_t>(bytes)));
  }
  return cells;
}

}  // namespace

std::string memory_of_ranks(const MemoryReport& report, Runtime* runtime) {
  const std::shared_ptr<Runtime> job = replica::job_of(runtime);
  const std::vector<std::string> rows = replica::allgather_object(
      absl::StrJoin(row(report, *job), " "),
      {.name = "memory of ranks", .runtime = job.get()});
  const Cells columns = heads(report);
  std::string table = "MB of memory at each rank's peak\nrank";
  for (const std::string& column : columns) {
    absl::StrAppend(&table, "  ", column);
  }
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    absl::StrAppendFormat(&table, "\n%4d", rank);
    const Cells cells = absl::StrSplit(rows[rank], ' ');
    for (std::size_t i = 0; i < std::min(cells.size(), columns.size()); ++i) {
      absl::StrAppendFormat(&table, "  %*s",
                            static_cast<int>(columns[i].size()), cells[i]);
    }
  }
  return table;
}

}  // namespace hvd::optim
