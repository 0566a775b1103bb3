// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/direct/starter.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "horovodpp/core/status.h"
#include "horovodpp/transport/tcp/meeting_server.h"
#include "horovodrun/engines/direct/control.h"
#include "horovodrun/engines/direct/rank_agents.h"
#include "horovodrun/engines/direct/remote_hosts.h"
#include "horovodrun/engines/direct/starter_order.h"
#include "horovodrun/engines/direct/this_host.h"
#include "horovodrun/engines/engine.h"
#include "horovodrun/engines/rank_order.h"
#include "horovodrun/output/rank_streams.h"
#include "horovodrun/output/report.h"
#include "horovodrun/system/process.h"
#include "horovodrun/system/signal_queue.h"
#include "horovodrun/terminal/terminal_input.h"

namespace hvd::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using transport::JobKey;
using transport::MeetingServer;

constexpr char kInterfaces[] = "HOROVODPP_INTERFACES";

// The interval of polling for a terminal that may be read again.
constexpr milliseconds kInputPollInterval{50};
// For ranks whose launcher was killed.
constexpr milliseconds kOrphanExitTimeout{1000};
// Input for rank 0 of another host that is read ahead.
constexpr std::size_t kMaxUnsentInput = 64 << 10;

// From the launcher, besides SIGTERM; agents know their meaning.
const std::vector<int> kPassedOn = {SIGALRM, SIGABRT, SIGUSR1, SIGUSR2};

std::vector<int> starter_signals() {
  std::vector<int> all = {SIGCHLD, SIGTERM};
  all.insert(all.end(), kPassedOn.begin(), kPassedOn.end());
  return all;
}

// Shows an error, unless that was done (RankAgents::start()).
void say_error(const absl::Status& error) {
  if (error.message().empty()) return;
  std::fputs(absl::StrCat("horovodrun: ", error.message(), "\n").c_str(),
             stderr);
}

class Starter {
 public:
  explicit Starter(const StarterOrder& order)
      : order_(order), remotes_(order.shell) {}

  int run();

 private:
  absl::Status start_server();
  absl::Status start_ranks();
  absl::Status start_own(RankAgents::Ranks ranks);
  void read_orders();
  void take(const RankOrder& order);
  absl::Status start_newcomer(const RankOrder& order);
  Environment with_rank_variables(Environment environment) const;
  bool any_runs() const;
  void reap();
  void wait(milliseconds longest);
  void serve_input();
  void signal(int signal, int rank = -1);

  const StarterOrder& order_;
  const ParentWatch parent_{getppid()};
  const SignalQueue signals_{starter_signals()};
  RankAgents own_;
  RemoteHosts remotes_;
  // Rank 0 gets this process's input, here or on another host. Empty where the
  // input is rank 0's own.
  std::optional<TerminalInput> terminal_;
  std::unique_ptr<MeetingServer> server_;  // Null: ranks need none.
  std::string key_;
  bool was_asked_ = false;  // To end.
  ThisHost this_host_;
  HostOrder host_order_{};  // For other hosts, without ranks.
  // Of an elastic job: the pipe of the launcher's orders, and what was read.
  int orders_ = number_in(current_environment(), {kOrdersVariable}, -1);
  std::string unread_orders_;
};

absl::Status Starter::start_server() {
  HVD_ASSIGN_OR_RETURN(const JobKey key, JobKey::random());
  key_ = key.to_hex();
  const std::string interfaces = value_in(current_environment(), kInterfaces);
  MeetingServer::Options options = {.key = key, .size = slots_of(order_.hosts)};
  options.interfaces = absl::StrSplit(interfaces, ',', absl::SkipEmpty());
  HVD_ASSIGN_OR_RETURN(server_, MeetingServer::start(options));
  return absl::OkStatus();
}

// By which ranks find each other.
Environment Starter::with_rank_variables(Environment environment) const {
  if (server_ == nullptr) {
    environment[kRendezvous] =
        absl::StrCat("horovodrun.", value_in(environment, kTokenVariable));
  } else {
    environment[kRendezvous] = absl::StrCat("launcher:", server_->endpoints());
    environment[kJobKey] = key_;
  }
  return environment;
}

absl::Status Starter::start_own(RankAgents::Ranks ranks) {
  ranks.environment = with_rank_variables(current_environment());
  ranks.environment.erase(kOrdersVariable);
  if (ranks.first == 0 && ranks.count > 0) {
    terminal_.emplace();
    ranks.input = terminal_->reading_end();
  }
  const bool all = own_.start(ranks);
  if (terminal_) terminal_->close_reading_end();
  // RankAgents has said why.
  return all ? absl::OkStatus() : absl::InternalError("");
}

// Other hosts first: their ranks take longest to start.
absl::Status Starter::start_ranks() {
  const Environment environment = current_environment();
  HostOrder& order = host_order_;
  order.agent = order_.agent;
  order.takes_more = orders_ >= 0;
  std::error_code error;
  order.folder = std::filesystem::current_path(error);
  for (const std::string& name : exportable_names(environment)) {
    order.environment[name] = environment.at(name);
  }
  order.environment.erase(kOutputVariable);
  order.environment.erase(kOrdersVariable);
  order.environment = with_rank_variables(std::move(order.environment));
  RankAgents::Ranks own = {.agent = order_.agent};
  std::size_t own_host = 0;
  if (!order_.shell.empty() || order_.hosts.size() > 1) {
    HVD_ASSIGN_OR_RETURN(own_host, this_host_.find(order_.hosts));
  }
  int next = 0;
  for (std::size_t i = 0; i < order_.hosts.size(); ++i) {
    const Host& host = order_.hosts[i];
    order.first_rank = std::exchange(next, next + host.slots);
    order.ranks = host.slots;
    if (i == own_host) {
      own.first = order.first_rank;
      own.count = order.ranks;
      continue;
    }
    HVD_RETURN_IF_ERROR(remotes_.start(host.name, order));
  }
  return start_own(std::move(own));
}

void Starter::read_orders() {
  if (orders_ < 0) return;
  char bytes[4096];
  pollfd orders = {orders_, POLLIN, 0};
  while (poll(&orders, 1, 0) == 1) {
    const ssize_t size = read(orders_, bytes, sizeof bytes);
    if (size <= 0) {
      orders_ = -1;  // The launcher has ended.
      break;
    }
    unread_orders_.append(bytes, static_cast<std::size_t>(size));
  }
  while (const auto order = take_rank_order(unread_orders_)) {
    if (!was_asked_) take(*order);
  }
}

// A newcomer that cannot start is reported as one that has failed.
void Starter::take(const RankOrder& order) {
  if (order.signal != 0) return signal(order.signal, order.rank);
  const absl::Status started = start_newcomer(order);
  if (started.ok()) return;
  say_error(started);
  send_report(
      {.kind = Report::Kind::kNotExecuted, .rank = order.rank, .value = EAGAIN},
      value_in(current_environment(), kTokenVariable));
}

absl::Status Starter::start_newcomer(const RankOrder& order) {
  if (this_host_.has_name(order.host)) {
    return start_own({.first = order.rank,
                      .count = 1,
                      .are_newcomers = true,
                      .agent = order_.agent});
  }
  HostOrder ranks = host_order_;
  ranks.first_rank = order.rank;
  ranks.ranks = 1;
  ranks.are_newcomers = true;
  return remotes_.start(order.host, ranks);
}

bool Starter::any_runs() const { return own_.any_runs() || remotes_.any(); }

void Starter::reap() {
  for (const RankAgents::Ended& ended : own_.reap()) {
    const auto lost = remotes_.shell_ended(ended.pid, ended.status);
    if (!lost || lost->code == 0 || was_asked_) continue;
    send_report({.kind = Report::Kind::kHostLost,
                 .value = lost->code,
                 .host = lost->name},
                value_in(current_environment(), kTokenVariable));
  }
}

void Starter::serve_input() {
  if (terminal_) terminal_->pass_on();
  if (!remotes_.has_reader() || !may_read_input() ||
      remotes_.unsent_input() > kMaxUnsentInput) {
    return;
  }
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  if (poll(&input, 1, 0) != 1) return;
  char bytes[4096];
  const ssize_t size = read(STDIN_FILENO, bytes, sizeof bytes);
  if (size < 0 && errno == EINTR) return;
  remotes_.send_input(
      std::string(bytes, static_cast<std::size_t>(std::max<ssize_t>(size, 0))));
}

void Starter::wait(milliseconds longest) {
  SignalWait wait = {.longest = longest};
  if (terminal_) {
    wait.readable = terminal_->awaited();
    if (terminal_->needs_polling()) wait.longest = kInputPollInterval;
  }
  if (remotes_.has_reader() && remotes_.unsent_input() <= kMaxUnsentInput) {
    if (may_read_input()) {
      wait.readable = STDIN_FILENO;
    } else {
      wait.longest = std::min(longest, kInputPollInterval);
    }
  }
  if (server_ != nullptr) {
    wait.more.push_back({server_->descriptor(), POLLIN, 0});
  }
  if (orders_ >= 0) wait.more.push_back({orders_, POLLIN, 0});
  remotes_.add_awaited(wait.more);
  wait_for_signal(signals_, parent_, wait);
  if (server_ != nullptr) server_->proceed();
  read_orders();
  remotes_.write_some();
  serve_input();
}

// For the agents of all ranks, or of one.
void Starter::signal(int signal, int rank) {
  if (rank < 0) {
    own_.signal_all(signal);
  } else {
    own_.signal(rank, signal);
  }
  remotes_.send_to_all(
      {.kind = ControlMessage::Kind::kSignal, .signal = signal, .rank = rank});
}

// A remaining agent ends its rank when this process has ended, and so does the
// process on another host.
int Starter::run() {
  std::signal(SIGPIPE, SIG_IGN);
  // The terminal stops the launcher only: ranks and connections go on.
  std::signal(SIGTSTP, SIG_IGN);
  absl::Status started;
  if (orders_ >= 0) fcntl(orders_, F_SETFD, FD_CLOEXEC);
  if (!order_.shell.empty() || orders_ >= 0) started = start_server();
  if (started.ok()) started = start_ranks();
  if (!started.ok()) {
    say_error(started);
    signal(SIGTERM);
  }
  std::optional<steady_clock::time_point> latest;
  while (reap(), any_runs()) {
    if (parent_.ended() && !latest) {
      was_asked_ = true;
      signal(SIGTERM);
      latest = steady_clock::now() + kOrphanExitTimeout;
    }
    if (latest && steady_clock::now() >= *latest) break;
    wait(latest           ? kInputPollInterval
         : remotes_.any() ? kPingInterval
                          : SignalWait().longest);
    remotes_.ping();
    while (const auto arrival = signals_.next()) {
      if (arrival->signal == SIGCHLD) continue;
      was_asked_ = was_asked_ || arrival->signal == SIGTERM;
      signal(arrival->signal);
    }
  }
  if (!started.ok()) return 1;
  return was_asked_ ? 128 + SIGTERM : 0;
}

}  // namespace

int run_starter(const std::vector<std::string>& words) {
  const auto order = parse_order(words);
  if (!order) return refuse_user(kStartRanks);
  return Starter(*order).run();
}

}  // namespace hvd::launcher
