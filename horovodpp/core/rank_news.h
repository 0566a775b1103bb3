// SPDX-License-Identifier: Apache-2.0
// RankNews is what a rank tells the launcher that started it about its part in
// the job, so that the launcher can tell causes from consequences and leaves
// those alone who go on. As text it is a few words, with no newline.
//
//   RankNews news = {.kind = RankNews::Kind::kBroken, .host = "a", .pid = 12};
//   news.set_reason("rank 1 (host 'b', pid 4711) ended without leaving the job");
//   parse_rank_news(to_text(news))->culprits[0].pid;   // 4711
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace hvd {

// What a reason says of a rank, after its name: of one that has died,
inline constexpr char kEndedEarly[] = "ended without leaving the job";
// and of the first rank of a node from which nothing comes any more.
inline constexpr char kNodeIsSilent[] =
    "and its node have not been heard of for too long; the host may be down or "
    "cut off";

struct RankNews {
  enum class Kind {
    kJoining,    // Begins to look for the others, where it sees no deaths.
    kConnected,  // Has found them, and sees who dies.
    kBroken,     // The job is broken for it.
    kReforming,  // Looks for those who are left, for `patience` at most.
    kReformed,   // Has a job with them, without `lost`.
    kHindered,   // What it submitted fails, for a rank has left the job early.
  };

  // A rank as the job that broke numbered it.
  struct Named {
    int rank = 0;
    std::string host{};
    std::int64_t pid = 0;

    friend bool operator==(const Named&, const Named&) = default;
  };

  Kind kind = Kind::kJoining;
  std::string host{};    // Of the rank that tells it, as its peers know it,
  std::int64_t pid = 0;  // and its process.
  std::chrono::milliseconds patience{0};
  std::vector<int> lost{};        // As the first job numbered them; ascending.
  std::vector<Named> culprits{};  // Whom the reason blames,
  std::string reason{};           // and what it says.

  // `text` is why the job broke: its subject, or else every rank it names, is
  // to blame. A rank that only saw it ("rank 1 (...): ") is not.
  void set_reason(const std::string& text);
  // Whether it blames a node that is silent.
  bool blames_silent_node() const {
    return reason.find(kNodeIsSilent) != std::string::npos;
  }

  friend bool operator==(const RankNews&, const RankNews&) = default;
};

// Takes "rank 3 (host 'a', pid 4711)" (Peer::to_string) off the front of `text`.
std::optional<RankNews::Named> take_named(absl::string_view* text);

// At most kMaxRankNewsBytes: a long reason is cut off, and of more ranks than
// there is room for only the first are told.
std::string to_text(const RankNews& news);
inline constexpr std::size_t kMaxRankNewsBytes = 2048;

std::optional<RankNews> parse_rank_news(absl::string_view text);

}  // namespace hvd
