// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/timeline/part_fetch.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/thread/clock.h"
#include "horovodrun/preflight/dialog.h"
#include "horovodrun/preflight/host_probe.h"
#include "horovodrun/preflight/probe_end.h"
#include "horovodrun/system/ssh_options.h"
#include "horovodrun/timeline/timeline_parts.h"

namespace hvd::launcher {
namespace {

// A host's end is polled: its streams may stay open.
constexpr int kPollMs = 50;
constexpr std::size_t kMostOfLine = 256;

std::vector<std::string> command_of(const PartFetchOptions& options) {
  std::vector<std::string> command = {options.program, kSendTimelines};
  const std::vector<std::string> words = to_words(options.request);
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

// Shared by all hosts.
struct Fetched {
  std::uint64_t budget = 0;  // Bytes that may still come.
  std::set<int> taken = {};  // Ranks whose files come, or have come.
  PartFetchResult result = {};
};

// The files of one host. They have other names until the host has removed its
// own: both may be the same file, on a file system that both hosts share.
class HostParts {
 public:
  HostParts(std::string host, const PartFetchOptions& options, Fetched& all)
      : host_(std::move(host)),
        options_(options),
        all_(all),
        dialog_(command_at(without_questions(options.shell), host_,
                           command_of(options)),
                options.environment),
        last_news_(Clock::steady().now()) {}
  ~HostParts() { store(); }
  HostParts(const HostParts&) = delete;
  HostParts& operator=(const HostParts&) = delete;

  void advance();
  bool is_over() const { return is_over_; }
  void add_awaited(std::vector<pollfd>* fds) const { dialog_.add_awaited(fds); }

 private:
  void take(std::string_view bytes);
  void take_line(std::string_view line);
  void begin(const PartHeader& header);
  void end_part();
  void fail(std::string why);
  void store();
  std::string draft_of(int rank) const {
    return part_name(options_.request.path, rank) + ".fetched";
  }

  const std::string host_;
  const PartFetchOptions& options_;
  Fetched& all_;
  Dialog dialog_;
  Clock::TimePoint last_news_;
  bool is_over_ = false;
  bool is_complete_ = false;
  std::string line_;  // Its beginning.
  std::ofstream draft_;
  int rank_ = -1;             // Of the draft that is written.
  std::uint64_t unread_ = 0;  // Of its bytes.
  std::set<int> received_;
};

void HostParts::advance() {
  if (is_over_) return;
  const std::string bytes = dialog_.advance_bytes();
  const Clock::TimePoint now = Clock::steady().now();
  if (!bytes.empty()) {
    last_news_ = now;
    take(bytes);
  } else if (dialog_.has_ended()) {
    is_over_ = true;
    if (is_complete_) return;
    fail(explain({.host = host_,
                  .shell = std::filesystem::path(options_.shell[0]).filename(),
                  .program = options_.program,
                  .code = dialog_.code(),
                  .errors = dialog_.errors()}));
  } else if (now - last_news_ > options_.longest_silence) {
    fail(absl::StrCat("host '", host_, "' has sent nothing for ",
                      options_.longest_silence.count() / 1000, " s"));
  }
}

// Lines that are not the sender's may be of the user's start-up files.
void HostParts::take(std::string_view bytes) {
  while (!bytes.empty() && !is_over_) {
    if (rank_ >= 0) {
      const auto some = std::min<std::uint64_t>(unread_, bytes.size());
      draft_.write(bytes.data(), static_cast<std::streamsize>(some));
      bytes.remove_prefix(some);
      unread_ -= some;
      if (unread_ == 0) end_part();
      continue;
    }
    const std::size_t end = bytes.find('\n');
    const std::string_view begin = bytes.substr(0, end);
    line_.append(
        begin.substr(0, kMostOfLine - std::min(kMostOfLine, line_.size())));
    if (end == bytes.npos) return;
    bytes.remove_prefix(end + 1);
    take_line(std::exchange(line_, {}));
  }
}

void HostParts::take_line(std::string_view line) {
  if (line == kPartsEnd) {
    is_complete_ = true;
    dialog_.send(absl::StrCat(kRemoveParts, "\n"));
  } else if (const auto header = parse_part_header(line)) {
    begin(*header);
  }
}

void HostParts::begin(const PartHeader& header) {
  // Hosts may share a file system, and offer the same files.
  const bool is_wanted = !options_.request.present.contains(header.rank) &&
                         !all_.taken.contains(header.rank);
  if (is_wanted && header.bytes > all_.budget) {
    all_.result.too_large[header.rank] = header.bytes;
  }
  if (!is_wanted || header.bytes > all_.budget) {
    return dialog_.send(absl::StrCat(kLeavePart, "\n"));
  }
  all_.taken.insert(header.rank);
  errno = 0;
  draft_.open(draft_of(header.rank), std::ios::binary | std::ios::trunc);
  rank_ = header.rank;
  unread_ = header.bytes;
  all_.budget -= header.bytes;
  if (!draft_.is_open()) return end_part();
  dialog_.send(absl::StrCat(kSendPart, "\n"));
  if (unread_ == 0) end_part();
}

void HostParts::end_part() {
  draft_.close();
  const int rank = std::exchange(rank_, -1);
  if (draft_.good()) {
    received_.insert(rank);
    return;
  }
  const std::string draft = draft_of(rank);
  std::error_code error;
  const int code = errno == 0 ? EIO : errno;
  std::filesystem::remove(draft, error);
  fail(absl::StrCat("cannot write ", draft, ": ", std::strerror(code)));
}

void HostParts::fail(std::string why) {
  is_over_ = true;
  all_.result.problems[host_] = std::move(why);
}

void HostParts::store() {
  std::error_code error;
  if (rank_ >= 0) std::filesystem::remove(draft_of(rank_), error);
  for (const int rank : received_) {
    std::filesystem::rename(draft_of(rank),
                            part_name(options_.request.path, rank), error);
  }
}

}  // namespace

PartFetchResult fetch_parts(const PartFetchOptions& options) {
  Fetched all = {.budget = options.most_bytes};
  std::vector<std::unique_ptr<HostParts>> hosts;
  for (const std::string& host : options.hosts) {
    hosts.push_back(std::make_unique<HostParts>(host, options, all));
  }
  while (!std::all_of(hosts.begin(), hosts.end(),
                      [](const auto& host) { return host->is_over(); })) {
    std::vector<pollfd> fds;
    for (const auto& host : hosts) {
      if (!host->is_over()) host->add_awaited(&fds);
    }
    poll(fds.data(), fds.size(), kPollMs);
    for (const auto& host : hosts) host->advance();
  }
  hosts.clear();
  return std::move(all.result);
}

}  // namespace hvd::launcher
