// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/output/rank_files.h"

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "horovodpp/core/status.h"

namespace hvd::launcher {

absl::Status make_output_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::InternalError(
        absl::StrCat("cannot make ", folder, ": ", error.message()));
  }
  return access(folder.c_str(), W_OK | X_OK) == 0
             ? absl::OkStatus()
             : errno_error(absl::StrCat("cannot write to ", folder));
}

LogLimits log_limits(const Environment& environment) {
  LogLimits limits;
  static_cast<void>(absl::SimpleAtoi(value_in(environment, kLogBytesVariable),
                                     &limits.max_bytes));
  limits.files = number_in(environment, {kLogFilesVariable}, limits.files);
  return limits;
}

void add_log_limits(const LogLimits& limits, Environment& environment) {
  if (limits.max_bytes == 0) return;
  environment[kLogBytesVariable] = absl::StrCat(limits.max_bytes);
  environment[kLogFilesVariable] = absl::StrCat(limits.files);
}

absl::StatusOr<RankLog> create_rank_log(const std::string& folder, int rank,
                                        int ranks, const LogLimits& limits) {
  const std::size_t digits = absl::StrCat(ranks - 1).size();
  const std::string of_rank =
      absl::StrFormat("%s/rank.%0*d", folder, digits, rank);
  HVD_RETURN_IF_ERROR(make_output_folder(of_rank));
  RankLog log;
  HVD_ASSIGN_OR_RETURN(log.output,
                       LogFile::create(of_rank + "/stdout", limits));
  HVD_ASSIGN_OR_RETURN(log.errors,
                       LogFile::create(of_rank + "/stderr", limits));
  return log;
}

absl::Status RankFiles::open(const std::string& folder, int ranks,
                             const LogLimits& limits) {
  HVD_RETURN_IF_ERROR(make_output_folder(folder));
  folder_ = folder;
  ranks_ = ranks;
  limits_ = limits;
  return absl::OkStatus();
}

absl::Status RankFiles::add(int rank) {
  if (folder_.empty() || logs_.contains(rank)) return absl::OkStatus();
  HVD_ASSIGN_OR_RETURN(RankLog log,
                       create_rank_log(folder_, rank, ranks_, limits_));
  logs_[rank] = std::move(log);
  return absl::OkStatus();
}

LogFile* RankFiles::output(int rank) const {
  const auto found = logs_.find(rank);
  return found == logs_.end() ? nullptr : found->second.output.get();
}

LogFile* RankFiles::errors(int rank) const {
  const auto found = logs_.find(rank);
  return found == logs_.end() ? nullptr : found->second.errors.get();
}

std::string RankFiles::error() const {
  for (const auto& [rank, log] : logs_) {
    for (const LogFile* file : {log.output.get(), log.errors.get()}) {
      if (std::string error = file->error(); !error.empty()) return error;
    }
  }
  return "";
}

}  // namespace hvd::launcher
