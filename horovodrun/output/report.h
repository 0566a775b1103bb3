// SPDX-License-Identifier: Apache-2.0
// A Report is an agent's message to the launcher about its rank. It is a line
// on the agent's standard error, which mpirun forwards from any host. It has a
// control character, a word, the job's token, and the fields.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "horovodpp/core/job/rank_status.h"

namespace hvd::launcher {

struct Report {
  enum class Kind {
    kStarted,      // The agent is about to start the command.
    kExited,       // `value` is the exit code.
    kKilled,       // `value` is the signal.
    kNotExecuted,  // `value` is the errno.
    kStopping,     // mpirun ends the rank; its end is no cause.
    kLeaving,      // Somebody else has told the agent to end the rank.
    kNews,         // The rank has sent `news`.
    kLeftBehind,   // SIGKILL does not end `pid`, a process of the rank; `text`
                   // tells where it waits.
    kFileLost,  // Output of the rank is missing in a file; `text` tells which
                // and why.
    kActivity,  // `text` is the rank's activity (watch/rank_activity.h).
    kLastLine,  // `text` is one of the last lines of a failed rank's standard
                // error, of a rank on another host.
    kWork,      // `text` is the last work of a failed rank, a predicate.
    kHostLost,  // The connection to `host` failed or was lost; `value` is the
                // exit code of the remote shell, or minus its signal.
  };
  Kind kind = Kind::kStarted;
  int rank = 0;
  int pid = 0;  // The agent's for kStarted, else the command's; 0: none.
  int value = 0;
  std::int64_t time = 0;  // The host's clock, microseconds since 1970.
  std::string host{};
  std::optional<RankStatus> news{};
  std::string text{};  // One line, at most 256 bytes.

  bool is_failure() const {
    return kind == Kind::kKilled || kind == Kind::kNotExecuted ||
           kind == Kind::kHostLost || (kind == Kind::kExited && value != 0);
  }

  friend bool operator==(const Report&, const Report&) = default;
};

// The environment variable that gives agents the token.
inline constexpr char kTokenVariable[] = "HOROVODRUN_TOKEN";

// The beginning of every report of a job.
std::string report_marker(const std::string& token);

// The report as a line, marker and newline included; at most kMaxReportBytes.
std::string to_line(const Report& report, const std::string& token);
inline constexpr size_t kMaxReportBytes = kMaxRankStatusBytes + 512;

// Reads the text between the marker and the newline.
std::optional<Report> parse_report(absl::string_view fields);

// For an agent: fills in the time, and this host if none is named, and writes
// the report to standard error in one piece.
void send_report(Report report, const std::string& token);
// Reports these processes of `rank`, which SIGKILL does not end.
void report_left_behind(int rank, const std::vector<pid_t>& pids,
                        const std::string& token);

}  // namespace hvd::launcher
