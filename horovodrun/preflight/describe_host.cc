// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/preflight/describe_host.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "horovodrun/output/rank_files.h"
#include "horovodrun/preflight/host_facts.h"

namespace hvd::launcher {
namespace {

constexpr char kTargetWord[] = "target ";
constexpr char kNoMoreTargets[] = "go";
constexpr std::size_t kMaxTargets = 1 << 16;
constexpr std::size_t kMaxUnread = 4096;
// A launcher that asks nothing, and whose connection is not closed either.
constexpr std::chrono::minutes kMaxTime{2};

void write_all(absl::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(STDOUT_FILENO, text.data(), text.size());
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) return;
  }
}

class Answer {
 public:
  int run(const std::string& wish);

 private:
  bool read_input();
  void take(absl::string_view line);

  Reach reach_;
  std::string unread_;
  std::vector<ReachTarget> targets_;
  bool has_begun_ = false;
  bool has_answered_ = false;
};

void Answer::take(absl::string_view line) {
  if (has_begun_) return;
  if (line == kNoMoreTargets) {
    has_begun_ = true;
    reach_.begin(targets_);
  } else if (const auto target = parse_target(line);
             target && targets_.size() < kMaxTargets) {
    targets_.push_back(*target);
  }
}

// False at its end.
bool Answer::read_input() {
  std::array<char, 4096> bytes{};
  const ssize_t count = read(STDIN_FILENO, bytes.data(), bytes.size());
  if (count < 0) return errno == EINTR;
  if (count == 0) return false;
  for (const char c :
       absl::string_view(bytes.data(), static_cast<std::size_t>(count))) {
    if (c != '\n') {
      if (unread_.size() < kMaxUnread) unread_.push_back(c);
      continue;
    }
    take(unread_);
    unread_.clear();
  }
  return true;
}

int Answer::run(const std::string& wish) {
  std::signal(SIGPIPE, SIG_IGN);
  HostFacts facts = own_facts();
  facts.port = reach_.port();
  facts.id = reach_.id();
  if (wish == kDetails) {
    add_details(&facts);
  } else if (!wish.empty()) {
    facts.problem = std::string(make_output_folder(wish).message());
  }
  write_all(to_lines(facts));
  const Clock::TimePoint end = Clock::steady().now() + kMaxTime;
  while (Clock::steady().now() < end) {
    std::vector<pollfd> fds = {{STDIN_FILENO, POLLIN, 0}};
    reach_.add_awaited(&fds);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        std::min(end, reach_.deadline()) - Clock::steady().now());
    poll(fds.data(), fds.size(), std::max(0, static_cast<int>(left.count())));
    if (fds[0].revents != 0 && !read_input()) return 0;
    reach_.advance();
    if (!reach_.is_done() || has_answered_) continue;
    has_answered_ = true;
    std::string text;
    for (const std::size_t target : reach_.reached()) {
      absl::StrAppend(&text, reached_line(target), "\n");
    }
    write_all(absl::StrCat(text, kFactsEnd, "\n"));
  }
  return 0;
}

}  // namespace

std::string target_lines(const std::vector<ReachTarget>& targets) {
  std::string text;
  for (const ReachTarget& one : targets) {
    absl::StrAppend(&text, kTargetWord, one.host, " ",
                    address_text(one.address), " ", one.port, " ", one.id,
                    "\n");
  }
  return absl::StrCat(text, kNoMoreTargets, "\n");
}

std::optional<ReachTarget> parse_target(absl::string_view line) {
  if (!absl::ConsumePrefix(&line, kTargetWord)) return std::nullopt;
  const std::vector<std::string> words = absl::StrSplit(line, ' ');
  ReachTarget target;
  if (words.size() != 4 || !absl::SimpleAtoi(words[0], &target.host) ||
      !absl::SimpleAtoi(words[2], &target.port) || target.port < 1 ||
      target.port > 65535) {
    return std::nullopt;
  }
  const auto address = parse_address(words[1]);
  if (!address) return std::nullopt;
  target.address = *address;
  target.id = words[3];
  return target;
}

std::string reached_line(std::size_t target) {
  return absl::StrCat(kFactsWord, "reached ", target);
}

std::optional<std::size_t> parse_reached(absl::string_view line) {
  std::size_t target = 0;
  if (!absl::ConsumePrefix(&line, kFactsWord) ||
      !absl::ConsumePrefix(&line, "reached ") ||
      !absl::SimpleAtoi(line, &target)) {
    return std::nullopt;
  }
  return target;
}

int describe_host(const std::string& wish) { return Answer().run(wish); }

}  // namespace hvd::launcher
