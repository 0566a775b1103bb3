// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/direct/host_ranks.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/job/host_name.h"
#include "horovodrun/engines/direct/control.h"
#include "horovodrun/engines/direct/rank_agents.h"
#include "horovodrun/engines/engine.h"
#include "horovodrun/pipes/pipe_writer.h"
#include "horovodrun/system/environment.h"
#include "horovodrun/system/process.h"
#include "horovodrun/system/signal_queue.h"

namespace hvd::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// For ranks after the connection has ended.
constexpr milliseconds kRanksExitTimeout{1000};
constexpr milliseconds kEndPollInterval{50};
// While rank 0 has not read this much, no further messages are read.
constexpr std::size_t kMaxUnreadInput = 1 << 20;

void say_here(const std::string& text) {
  std::fputs(absl::StrCat("horovodrun: host '", host_name(), "': ", text, "\n")
                 .c_str(),
             stderr);
}

class HostRanks {
 public:
  int run();

 private:
  void read_control();
  void take(const ControlMessage& message);
  void start(const HostOrder& order);
  void begin_end();
  void check_silence();

  const ParentWatch parent_{getppid()};
  const SignalQueue signals_{{SIGCHLD, SIGTERM, SIGINT, SIGHUP}};
  ControlReader control_;
  RankAgents agents_;
  PipeWriter input_;  // Of rank 0.
  bool was_ordered_ = false;
  bool takes_more_ = false;  // Ranks may be ordered later.
  bool failed_ = false;
  steady_clock::time_point heard_at_ = steady_clock::now();
  milliseconds longest_silence_ = kLongestSilence;
  // The end of the time for ranks to end; set when they were told to.
  std::optional<steady_clock::time_point> latest_;
};

void HostRanks::start(const HostOrder& order) {
  takes_more_ = order.takes_more;
  longest_silence_ = order.longest_silence;
  if (!was_ordered_ && chdir(order.folder.c_str()) != 0) {
    say_here(absl::StrCat(
        "there is no folder ", order.folder,
        ", so its ranks start in the home folder: ", std::strerror(errno)));
  }
  was_ordered_ = true;
  Environment environment = order.environment;
  environment.insert({"PWD", order.folder});
  environment.merge(current_environment());
  failed_ = !agents_.start({.first = order.first_rank,
                            .count = order.ranks,
                            .are_newcomers = order.are_newcomers,
                            .agent = order.agent,
                            .environment = environment,
                            .input = input_.reading_end()});
  input_.close_reading_end();
  if (failed_) begin_end();
}

void HostRanks::take(const ControlMessage& message) {
  switch (message.kind) {
    case ControlMessage::Kind::kOrder:
      if (!was_ordered_ || (takes_more_ && message.order.are_newcomers)) {
        start(message.order);
      }
      break;
    case ControlMessage::Kind::kSignal:
      if (message.rank >= 0) {
        agents_.signal(message.rank, message.signal);
        break;
      }
      if (message.signal == SIGTERM) takes_more_ = false;
      agents_.signal_all(message.signal);
      break;
    case ControlMessage::Kind::kInput:
      input_.add(message.input);
      if (message.input.empty()) input_.end();
      break;
    case ControlMessage::Kind::kPing:
      break;
  }
}

void HostRanks::begin_end() {
  if (latest_) return;
  latest_ = steady_clock::now() + kRanksExitTimeout;
  agents_.signal_all(SIGTERM);
}

// While rank 0 has input to read, messages wait, too.
void HostRanks::check_silence() {
  const auto now = steady_clock::now();
  if (input_.unwritten() > kMaxUnreadInput) heard_at_ = now;
  if (latest_ || now < heard_at_ + longest_silence_) return;
  say_here(absl::StrCat("its ranks end: the launcher has been silent for ",
                        std::chrono::duration<double>(longest_silence_).count(),
                        " s"));
  begin_end();
}

void HostRanks::read_control() {
  char bytes[16 << 10];
  const ssize_t size = read(STDIN_FILENO, bytes, sizeof bytes);
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (size <= 0) return begin_end();
  heard_at_ = steady_clock::now();
  control_.add(bytes, static_cast<std::size_t>(size));
  while (true) {
    const auto message = control_.next();
    if (!message.ok()) {
      say_here(std::string(message.status().message()));
      failed_ = true;
      return begin_end();
    }
    if (!message->has_value()) return;
    take(**message);
  }
}

int HostRanks::run() {
  std::signal(SIGPIPE, SIG_IGN);
  while (true) {
    agents_.reap();
    const bool is_done =
        ((was_ordered_ && !takes_more_) || latest_) && !agents_.any_runs();
    if (is_done || (latest_ && steady_clock::now() >= *latest_)) break;
    const bool has_room = input_.unwritten() <= kMaxUnreadInput;
    pollfd control = {latest_ ? -1 : STDIN_FILENO, POLLRDHUP, 0};
    if (has_room) control.events |= POLLIN;
    wait_for_signal(
        signals_, parent_,
        {.longest = latest_ ? kEndPollInterval : longest_silence_ / 4,
         .more = {control, {input_.awaited(), POLLOUT, 0}}});
    while (const auto arrival = signals_.next()) {
      if (arrival->signal != SIGCHLD) begin_end();
    }
    if (parent_.ended()) begin_end();
    check_silence();
    input_.write_some();
    if (poll(&control, 1, 0) != 1) continue;
    if ((control.revents & POLLIN) != 0) {
      read_control();
    } else {
      begin_end();
    }
  }
  if (failed_) return 1;
  return latest_ ? 128 + SIGTERM : 0;
}

}  // namespace

int run_ranks_of_host(const std::vector<std::string>& words) {
  if (!words.empty()) return refuse_user(kStartRanksOfHost);
  return HostRanks().run();
}

}  // namespace hvd::launcher
