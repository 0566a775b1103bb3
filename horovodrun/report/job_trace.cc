// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/report/job_trace.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "horovodpp/core/printable.h"
#include "horovodpp/core/status.h"
#include "horovodrun/report/statistics.h"

namespace hvd::launcher::report {
namespace {

// "rank 2" and "rank 2 allreduce.a" are of rank 2.
struct ProcessName {
  std::optional<int> rank;
  std::string label;
};

ProcessName parsed(const TraceElement& element) {
  ProcessName result = {.rank = {}, .label = element.process};
  absl::string_view text = element.process;
  if (absl::ConsumePrefix(&text, "rank ")) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(text, absl::MaxSplits(' ', 1));
    int rank = 0;
    if (absl::SimpleAtoi(parts.first, &rank) && rank >= 0) {
      result = {.rank = rank, .label = std::string(parts.second)};
    }
  }
  if (element.rank) result.rank = static_cast<int>(*element.rank);
  return result;
}

class FileReader {
 public:
  // `unnamed`: the rank of a file that names none.
  FileReader(std::string path, int unnamed)
      : path_(std::move(path)), rank_(unnamed) {}

  absl::StatusOr<std::vector<RankTrace>> read() {
    HVD_ASSIGN_OR_RETURN(const bool is_complete,
                         read_trace(path_, [this](const TraceElement& element) {
                           take(element);
                           return absl::OkStatus();
                         }));
    if (!has_processes_) {
      return absl::InvalidArgumentError(absl::StrCat(
          printable(path_), ": it is no timeline: it names no process"));
    }
    std::vector<RankTrace> result;
    for (auto& [rank, builder] : builders_) {
      result.push_back(builder->finish());
      result.back().is_complete = is_complete;
      result.back().is_merged = builders_.size() > 1;
    }
    return result;
  }

 private:
  void take(const TraceElement& element) {
    const auto known = of_process_.find(element.pid);
    TraceBuilder* builder =
        known == of_process_.end() ? nullptr : known->second;
    if (element.phase == 'M' && element.name == "process_name") {
      const ProcessName name = parsed(element);
      if (name.rank) rank_ = *name.rank;
      builder = &builder_of(rank_);
      builder->name_process(element.pid, name.label);
      of_process_[element.pid] = builder;
      has_processes_ = true;
    }
    // Marks may have a process without a name.
    if (builder == nullptr) builder = &builder_of(rank_);
    builder->add(element);
  }

  TraceBuilder& builder_of(int rank) {
    std::unique_ptr<TraceBuilder>& builder = builders_[rank];
    if (builder == nullptr) {
      builder = std::make_unique<TraceBuilder>(rank, path_);
    }
    return *builder;
  }

  const std::string path_;
  int rank_;  // Of the process that was named last.
  bool has_processes_ = false;
  std::map<int, std::unique_ptr<TraceBuilder>> builders_;
  std::unordered_map<std::int64_t, TraceBuilder*> of_process_;
};

}  // namespace

void align(std::vector<RankTrace>& ranks) {
  std::unordered_map<std::uint64_t, double> ends;
  for (const Batch& batch : ranks[0].batches) {
    if (batch.number && batch.needs_all) ends[*batch.number] = batch.end;
  }
  for (RankTrace& rank : ranks) {
    if (rank.is_merged || &rank == ranks.data()) continue;
    if (rank.epoch_us > 0 && ranks[0].epoch_us > 0) {
      rank.shift(rank.epoch_us - ranks[0].epoch_us);
    }
    std::vector<double> early;
    for (const Batch& batch : rank.batches) {
      if (!batch.number) continue;
      const auto found = ends.find(*batch.number);
      if (found != ends.end()) early.push_back(found->second - batch.end);
    }
    if (!early.empty()) rank.shift(median(std::move(early)));
  }
  double first = ranks[0].extent.begin;
  for (const RankTrace& rank : ranks) {
    first = std::min(first, rank.extent.begin);
  }
  for (RankTrace& rank : ranks) rank.shift(-first);
}

absl::StatusOr<std::vector<RankTrace>> read_job(
    const std::vector<std::string>& files) {
  std::map<int, RankTrace> ranks;
  int unnamed = 0;
  for (const std::string& path : files) {
    HVD_ASSIGN_OR_RETURN(std::vector<RankTrace> read,
                         FileReader(path, unnamed++).read());
    for (RankTrace& trace : read) {
      const int rank = trace.rank;
      const auto [at, is_new] = ranks.try_emplace(rank, std::move(trace));
      if (!is_new) {
        return absl::InvalidArgumentError(
            absl::StrCat(printable(path), ": it is of rank ", rank, ", as is ",
                         printable(at->second.file)));
      }
    }
  }
  std::vector<RankTrace> result;
  for (auto& [rank, trace] : ranks) result.push_back(std::move(trace));
  align(result);
  return result;
}

}  // namespace hvd::launcher::report
