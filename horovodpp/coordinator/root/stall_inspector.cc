// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/root/stall_inspector.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hvd::coordinator {
namespace {

// Ranks named in a message; the others are only counted.
constexpr std::size_t kMaxNamed = 16;

// How long a leader waits for its ranks, plus the extra time for each level of
// the tree below.
constexpr Clock::Duration kAnswerTimeout = std::chrono::seconds(1);
constexpr Clock::Duration kAnswerTimeoutPerLevel =
    std::chrono::milliseconds(250);

void merge(Inspected& found, const Inspected& more) {
  found.ready_count += more.ready_count;
  found.missing_count += more.missing_count;
  found.most_submissions =
      std::max(found.most_submissions, more.most_submissions);
  for (const int rank : more.ready) {
    if (found.ready.size() < kMaxNamed) found.ready.push_back(rank);
  }
  for (const RankState& state : more.missing) {
    if (found.missing.size() < kMaxNamed) found.missing.push_back(state);
  }
}

int height_below(const Tree& tree, int node) {
  int height = 0;
  for (const int child : tree.children(node)) {
    height = std::max(height, 1 + height_below(tree, child));
  }
  return height;
}

std::string state_text(const RankState& state, std::uint64_t most,
                       const std::function<std::string(int)>& describe) {
  std::string text = describe(state.rank);
  if (!state.answers) {
    absl::StrAppend(&text, ", which ", kDoesNotAnswer);
    if (!state.silence_cause.empty())
      absl::StrAppend(&text, ": ", state.silence_cause);
    return text;
  }
  if (state.has_left) return absl::StrCat(text, ", which has shut down");
  if (state.has_joined) return absl::StrCat(text, ", which has joined");
  if (state.last_name.empty()) {
    return absl::StrCat(text, ", which has submitted nothing so far");
  }
  absl::StrAppend(&text, ", whose last submission was '", state.last_name, "' ",
                  seconds_text(state.last_ms_ago), " ago");
  if (state.submissions > 0 && state.submissions < most) {
    absl::StrAppend(
        &text, " and which has submitted this one ", state.submissions,
        " times, others ", most,
        " (uneven data? call join() on ranks that run out of data)");
  }
  return text;
}

}  // namespace

std::string seconds_text(std::uint32_t ms) {
  return absl::StrCat((ms + 500) / 1000, " s");
}

bool ends_the_job(const Stalled& message, Clock::Duration shutdown) {
  return shutdown.count() > 0 &&
         std::chrono::milliseconds(message.waited_ms) >= shutdown;
}

Inspected answer_of(std::uint32_t query, const RankState& state,
                    bool is_concerned) {
  Inspected answer = {.query = query};
  if (!is_concerned) return answer;
  if (state.has_submitted) {
    answer.ready_count = 1;
    answer.ready = {state.rank};
    answer.most_submissions = state.submissions;
  } else {
    answer.missing_count = 1;
    answer.missing = {state};
  }
  return answer;
}

std::string stall_text(const Key& key, std::uint32_t waited_ms,
                       const Inspected& found,
                       const std::function<std::string(int)>& describe) {
  std::vector<int> ready = found.ready;
  std::sort(ready.begin(), ready.end());
  std::string text = absl::StrCat(key.to_string(), " has waited for ",
                                  seconds_text(waited_ms));
  if (ready.empty()) {
    absl::StrAppend(&text, ": no rank that answers has submitted it");
  } else {
    absl::StrAppend(&text, ": ranks [", absl::StrJoin(ready, ", "),
                    found.ready_count > ready.size() ? ", …" : "",
                    "] have submitted it");
  }
  if (found.missing_count == 0) {
    return text + ", and no rank is missing any more";
  }
  std::vector<RankState> missing = found.missing;
  std::sort(
      missing.begin(), missing.end(),
      [](const RankState& a, const RankState& b) { return a.rank < b.rank; });
  const auto say = [&](std::string* out, const RankState& state) {
    absl::StrAppend(out, state_text(state, found.most_submissions, describe));
  };
  absl::StrAppend(&text, ready.empty() ? "; missing are " : ", but not ",
                  absl::StrJoin(missing, "; ", say));
  if (found.missing_count > missing.size()) {
    absl::StrAppend(&text, "; and ", found.missing_count - missing.size(),
                    " more ranks");
  }
  return text;
}

StallGatherer::StallGatherer(std::shared_ptr<const Tree> tree, int node,
                             std::function<std::string(int)> explain_silence)
    : tree_(std::move(tree)),
      node_(node),
      explain_silence_(std::move(explain_silence)),
      timeout_(kAnswerTimeout +
               height_below(*tree_, node) * kAnswerTimeoutPerLevel) {}

void StallGatherer::begin(std::uint32_t query, Clock::TimePoint now) {
  Open& open = open_[query];
  open.found.query = query;
  open.awaited = tree_->ranks_of(node_);
  for (const int child : tree_->children(node_)) {
    open.awaited.push_back(tree_->leader_of(child));
  }
  open.begun = now;
  for (const int rank : open.awaited) silent_since_.try_emplace(rank, now);
}

// An earlier question without an answer counts: a rank that has been silent for
// the timeout is not given another one.
Clock::TimePoint StallGatherer::deadline(const Open& open) const {
  Clock::TimePoint last_begun = Clock::TimePoint::min();
  for (const int rank : open.awaited) {
    const auto silent = silent_since_.find(rank);
    const bool is_silent = silent != silent_since_.end();
    last_begun =
        std::max(last_begun,
                 is_silent ? std::min(silent->second, open.begun) : open.begun);
  }
  return last_begun + timeout_;
}

absl::Status StallGatherer::receive(int from, const Inspected& answer) {
  silent_since_.erase(from);
  const auto open = open_.find(answer.query);
  if (open == open_.end()) return absl::OkStatus();  // Too late.
  std::vector<int>& awaited = open->second.awaited;
  const auto place = std::find(awaited.begin(), awaited.end(), from);
  if (place == awaited.end()) {
    return absl::InvalidArgumentError(
        "a rank answered a question that it was not asked");
  }
  awaited.erase(place);
  merge(open->second.found, answer);
  return absl::OkStatus();
}

std::vector<Inspected> StallGatherer::take(Clock::TimePoint now) {
  std::vector<Inspected> done;
  for (auto it = open_.begin(); it != open_.end();) {
    Open& open = it->second;
    if (!open.awaited.empty() && now < deadline(open)) {
      ++it;
      continue;
    }
    for (const int rank : open.awaited) {
      const bool is_here = tree_->node_of(rank) == node_;
      const RankState silent = {.rank = rank,
                                .answers = false,
                                .silence_cause = is_here && explain_silence_
                                                     ? explain_silence_(rank)
                                                     : std::string()};
      merge(open.found, {.missing_count = 1, .missing = {silent}});
    }
    done.push_back(std::move(open.found));
    it = open_.erase(it);
  }
  return done;
}

std::optional<Clock::TimePoint> StallGatherer::due() const {
  std::optional<Clock::TimePoint> due;
  for (const auto& [query, open] : open_) {
    const Clock::TimePoint deadline = this->deadline(open);
    if (!due || deadline < *due) due = deadline;
  }
  return due;
}

std::optional<Inspect> StallInspector::stalled(const Stalled& message,
                                               Clock::TimePoint now) {
  const bool is_fatal = ends_the_job(message, shutdown_);
  std::erase_if(asked_at_, [&](const auto& asked) {
    return now - asked.second >= interval_ / 2;
  });
  // Questions about ordinary stalls do not delay a question that ends the job.
  const auto open =
      std::count_if(open_.begin(), open_.end(), [&](const auto& one) {
        return one.second.asker < 0 && one.second.is_fatal == is_fatal;
      });
  if (open >= kMaxOpen || (asked_at_.contains(message.key) && !is_fatal)) {
    return std::nullopt;
  }
  for (const auto& [query, finding] : open_) {
    if (finding.asker < 0 && finding.key == message.key &&
        finding.is_fatal >= is_fatal) {
      return std::nullopt;
    }
  }
  asked_at_[message.key] = now;
  const std::uint32_t query = next_query_++;
  open_[query] = {.key = message.key,
                  .waited_ms = message.waited_ms,
                  .is_join = message.is_join,
                  .is_fatal = is_fatal};
  return Inspect{query, message.key, message.ranks};
}

Inspect StallInspector::asked(const Stalled& message) {
  const std::uint32_t query = next_query_++;
  open_[query] = {.key = message.key,
                  .waited_ms = message.waited_ms,
                  .asker = message.asker,
                  .question = message.question};
  return Inspect{query, message.key, message.ranks};
}

std::optional<StallInspector::Finding> StallInspector::answered(
    const Inspected& found) {
  const auto open = open_.extract(found.query);
  if (open.empty()) return std::nullopt;
  Finding finding = open.mapped();
  if (finding.asker >= 0) return finding;
  // The missing ranks may have submitted in the meantime.
  if (found.missing_count == 0) return std::nullopt;
  if (!finding.is_join) return finding;
  // A join may wait as long as other ranks submit operations.
  std::chrono::milliseconds idle(finding.waited_ms);
  for (const RankState& state : found.missing) {
    if (state.answers && !state.last_name.empty()) {
      idle = std::min(idle, std::chrono::milliseconds(state.last_ms_ago));
    }
  }
  if (idle < interval_) return std::nullopt;
  finding.is_fatal = finding.is_fatal && idle >= shutdown_;
  return finding;
}

}  // namespace hvd::coordinator
