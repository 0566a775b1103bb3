// SPDX-License-Identifier: Apache-2.0
// RankStatus is a rank's report to its launcher about its part in the job. With
// it the launcher tells causes from consequences, and does not end ranks that
// go on. As text it is a few words without a newline.
//
//   RankStatus news = {.kind = RankStatus::Kind::kBroken, .host = "a", .pid = 12};
//   news.set_reason(
//       "rank 1 (host 'b', pid 4711) ended without leaving the job");
//   parse_rank_status(to_text(news))->culprits[0].pid;   // 4711
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "horovodpp/core/job/suspects.h"

namespace hvd {

// The reason's words about a dead rank, after its name,
inline constexpr char kEndedEarly[] = "ended without leaving the job";
// and about the first rank of a silent node.
inline constexpr char kNodeIsSilent[] =
    "and its node have not been heard of for too long; the host may be down or "
    "cut off";

// About a rank whose program has closed the descriptors of its process.
inline constexpr char kClosedDescriptors[] =
    "has lost its connections and its view of other ranks: its program, or a "
    "library that makes it a daemon, closed descriptors that horovodpp had "
    "opened; close only the program's own, or close them before hvd.init()";

struct RankStatus {
  enum class Kind {
    kJoining,    // Starts to look for the other ranks; cannot see deaths yet.
    kConnected,  // Has found the other ranks, and sees deaths.
    kBroken,     // The job is broken for this rank.
    kReforming,  // Looks for the surviving ranks, for `timeout` at most.
    kReformed,   // Has a job with the survivors, without `lost`.
    kPeerLeftEarly,  // Its submissions fail, because a rank has left the job early.
  };

  // A rank as numbered in the broken job.
  struct Named {
    int rank = 0;
    std::string host{};
    std::int64_t pid = 0;

    friend bool operator==(const Named&, const Named&) = default;
  };

  Kind kind = Kind::kJoining;
  std::string host{};    // The reporting rank's host, as its peers know it,
  std::int64_t pid = 0;  // and its process.
  std::chrono::milliseconds timeout{0};
  std::vector<int> lost{};        // Numbers of the first job; ascending.
  std::vector<Named> culprits{};  // Ranks that the reason blames,
  std::string reason{};           // and its text,
  FailureKind failure = FailureKind::kOther;  // and its kind.

  // `text` is why the job broke. Blames its subject, or else every rank that it
  // names, but not a rank that only observed ("rank 1 (...): ").
  void set_reason(const std::string& text);

  friend bool operator==(const RankStatus&, const RankStatus&) = default;
};

// Parses and removes "rank 3 (host 'a', pid 4711)" (Peer::to_string) from the
// front of `text`.
std::optional<RankStatus::Named> take_named(absl::string_view* text);

// At most kMaxRankStatusBytes: long reasons are cut, and long lists of ranks
// keep only the first.
std::string to_text(const RankStatus& status);
inline constexpr std::size_t kMaxRankStatusBytes = 2048;

std::optional<RankStatus> parse_rank_status(absl::string_view text);

}  // namespace hvd
