// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/metrics/rank_metrics.h"

#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "horovodpp/core/status.h"
#include "horovodpp/telemetry/metrics/exposition.h"

namespace hvd::telemetry {
namespace {

constexpr char kRankInPath[] = "{rank}";
constexpr int kLastPort = 65535;

}  // namespace

absl::Status RankMetrics::begin(const MetricsReader::Place& place) {
  if (reader_ != nullptr) return absl::OkStatus();
  HVD_ASSIGN_OR_RETURN(reader_, MetricsReader::start(follower_, place));
  return absl::OkStatus();
}

void RankMetrics::start(const Options& options) {
  if (!options.count && options.file.empty() && options.port == 0) return;
  MutexLock lock(mutex_);
  file_.reset();  // It uses the log.
  log_.emplace(options.rank, options.log);
  const absl::Status begun = begin({options.rank, options.size});
  if (!begun.ok()) {
    return log_->warning(absl::StrCat(
        "cannot count, so the job goes on without metrics: ", begun.message()));
  }
  start_file(options);
  start_server(options);
}

void RankMetrics::start_file(const Options& options) {
  if (options.file.empty()) return;
  const std::string earlier = std::exchange(path_, {});
  if (options.rank == 0 || absl::StrContains(options.file, kRankInPath)) {
    path_ = absl::StrReplaceAll(options.file,
                                {{kRankInPath, absl::StrCat(options.rank)}});
  }
  // Prometheus would see both.
  if (!earlier.empty() && earlier != path_) ::unlink(earlier.c_str());
  if (path_.empty()) return;
  auto file = MetricsFile::start(
      {.path = path_,
       .interval = options.interval,
       .collect = [reader = reader_.get()] { return reader->snapshot(); },
       .log = &*log_});
  if (file.ok()) {
    file_ = *std::move(file);
    return;
  }
  log_->warning(absl::StrCat(
      "cannot write the metrics, so the job goes on without them: ",
      file.status().message()));
}

void RankMetrics::start_server(const Options& options) {
  if (options.port == 0 || server_ != nullptr) return;
  const int port = options.port + options.local_rank;
  auto server = port > kLastPort
                    ? absl::InvalidArgumentError(
                          absl::StrCat("port ", options.port,
                                       " of local rank 0 leaves none for local "
                                       "rank ",
                                       options.local_rank))
                    : MetricsServer::start(
                          options.address, port, [reader = reader_.get()] {
                            return exposition(reader->snapshot(),
                                              TextFormat::kPrometheus);
                          });
  if (server.ok()) {
    server_ = *std::move(server);
    return;
  }
  log_->warning(
      absl::StrCat("cannot serve the metrics, so the job goes on without: ",
                   server.status().message()));
}

absl::StatusOr<std::vector<Metric>> RankMetrics::snapshot(
    const MetricsReader::Place& place) {
  MutexLock lock(mutex_);
  HVD_RETURN_IF_ERROR(begin(place));
  return reader_->snapshot();
}

void RankMetrics::write() {
  MutexLock lock(mutex_);
  if (file_ != nullptr) file_->write();
}

}  // namespace hvd::telemetry
