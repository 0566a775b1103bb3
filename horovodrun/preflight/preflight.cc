// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/preflight/preflight.h"

#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/clock.h"
#include "horovodrun/preflight/describe_host.h"
#include "horovodrun/preflight/host_facts.h"
#include "horovodrun/preflight/host_probe.h"
#include "horovodrun/preflight/networks.h"
#include "horovodrun/preflight/own_host.h"
#include "horovodrun/preflight/probe_end.h"
#include "horovodrun/preflight/reach.h"

namespace hvd::launcher {
namespace {

using std::chrono::milliseconds;

// Seconds that ssh may take for a TCP connection: two more attempts, if the
// first packet is lost.
constexpr char kSshConnectTimeout[] = "ConnectTimeout=4";
// For further hosts to fail, after the first.
constexpr milliseconds kMoreFailures{300};
// For the answers of hosts, after this host's own attempts to reach them.
constexpr milliseconds kReachAnswerTimeout{1000};
// A probe's end is polled: its streams may stay open.
constexpr milliseconds kProbePollInterval{50};
constexpr std::size_t kMostProblems = 8;

std::vector<std::string> probing(std::vector<std::string> shell) {
  if (std::filesystem::path(shell[0]).filename() != "ssh") return shell;
  for (const char* word :
       {"-T", "-o", "BatchMode=yes", "-o", kSshConnectTimeout}) {
    shell.emplace_back(word);
  }
  return shell;
}

class Conversation {
 public:
  explicit Conversation(const Preflight& job)
      : job_(job), own_(own_facts()), begin_(Clock::steady().now()) {}

  absl::StatusOr<std::vector<std::string>> run();

 private:
  void start_probes();
  absl::Status await_facts();
  absl::Status failure() const;
  std::vector<HostInterfaces> interfaces(bool with_loopback) const;
  std::vector<Network> choose_networks();
  void ask_for_reach(const std::vector<HostInterfaces>& hosts);
  void wait_until(Clock::TimePoint deadline);
  bool all(const std::function<bool(const HostProbe&)>& test) const;
  bool any(const std::function<bool(const HostProbe&)>& test) const;

  const Preflight& job_;
  const HostFacts own_;
  const Clock::TimePoint begin_;
  Reach reach_;
  std::vector<std::unique_ptr<HostProbe>> probes_;
  std::vector<ReachTarget> targets_;  // Hosts are numbered as in interfaces().
};

bool Conversation::all(
    const std::function<bool(const HostProbe&)>& test) const {
  return std::all_of(probes_.begin(), probes_.end(),
                     [&](const auto& probe) { return test(*probe); });
}

bool Conversation::any(
    const std::function<bool(const HostProbe&)>& test) const {
  return std::any_of(probes_.begin(), probes_.end(),
                     [&](const auto& probe) { return test(*probe); });
}

void Conversation::start_probes() {
  if (job_.shell.empty()) return;
  std::vector<std::string> command = {job_.program, kDescribeHost};
  if (!job_.folder.empty()) command.push_back(job_.folder);
  std::set<std::string> asked;
  for (const std::string& host : job_.hosts) {
    if (!asked.insert(host).second ||
        is_own_host(host, job_.own_name, own_.interfaces)) {
      continue;
    }
    probes_.push_back(std::make_unique<HostProbe>(host, probing(job_.shell),
                                                  command, job_.environment));
  }
}

void Conversation::wait_until(Clock::TimePoint deadline) {
  std::vector<pollfd> fds;
  for (const auto& probe : probes_) probe->add_awaited(&fds);
  reach_.add_awaited(&fds);
  const Clock::TimePoint now = Clock::steady().now();
  const auto left = std::chrono::ceil<milliseconds>(
      std::min({deadline, reach_.deadline(), now + kProbePollInterval}) - now);
  poll(fds.data(), fds.size(),
       static_cast<int>(std::max(milliseconds(0), left).count()));
  for (const auto& probe : probes_) probe->advance();
  reach_.advance();
}

absl::Status Conversation::failure() const {
  std::vector<std::string> problems;
  std::size_t more = 0;
  const auto add = [&](std::string problem) {
    if (problems.size() < kMostProblems) {
      problems.push_back(std::move(problem));
    } else {
      ++more;
    }
  };
  const bool any_failed =
      any([](const HostProbe& probe) { return probe.failed(); });
  for (const auto& probe : probes_) {
    if (probe->failed()) {
      add(explain(probe->end()));
    } else if (probe->facts() == nullptr) {
      if (!any_failed) add(explain_silence(probe->host(), job_.timeout));
    } else if (probe->facts()->version != own_.version) {
      add(explain_version(probe->end(), probe->facts()->version, own_.version));
    }
  }
  if (problems.empty()) return absl::OkStatus();
  std::string text = absl::StrJoin(problems, "; ");
  if (more > 0) absl::StrAppend(&text, "; and ", more, " more hosts");
  return absl::FailedPreconditionError(text);
}

absl::Status Conversation::await_facts() {
  Clock::TimePoint deadline = begin_ + job_.timeout;
  bool failed = false;
  while (Clock::steady().now() < deadline && !all([](const HostProbe& probe) {
           return probe.failed() || probe.facts() != nullptr;
         })) {
    wait_until(deadline);
    if (!failed && any([](const HostProbe& probe) { return probe.failed(); })) {
      failed = true;
      deadline = std::min(deadline, Clock::steady().now() + kMoreFailures);
    }
  }
  // mpirun needs no ssh to this host.
  std::erase_if(probes_, [&](const auto& probe) {
    return probe->failed() && !is_unknown_name(probe->end()) &&
           resolves_to_own_host(probe->host(), own_.interfaces);
  });
  return failure();
}

// This host's first, then the probes'.
std::vector<HostInterfaces> Conversation::interfaces(bool with_loopback) const {
  std::vector<HostInterfaces> hosts = {{job_.own_name, own_.interfaces}};
  for (const auto& probe : probes_) {
    hosts.push_back({probe->host(), probe->facts()->interfaces});
  }
  if (with_loopback) return hosts;
  for (HostInterfaces& host : hosts) {
    std::erase_if(host.interfaces,
                  [](const Interface& one) { return one.is_loopback(); });
  }
  return hosts;
}

void Conversation::ask_for_reach(const std::vector<HostInterfaces>& hosts) {
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const bool is_own = i == 0;
    const int port = is_own ? reach_.port() : probes_[i - 1]->facts()->port;
    const std::string& id = is_own ? reach_.id() : probes_[i - 1]->facts()->id;
    if (port == 0) continue;
    for (const Interface& one : hosts[i].interfaces) {
      targets_.push_back({i, one.address, port, id});
    }
  }
  for (const auto& probe : probes_) probe->send_targets(targets_);
  reach_.begin(targets_);
  const Clock::TimePoint deadline =
      Clock::steady().now() + Reach::kTimeout + kReachAnswerTimeout;
  const auto has_answered = [](const HostProbe& probe) {
    return probe.has_ended() || probe.reached();
  };
  while (Clock::steady().now() < deadline &&
         !(reach_.is_done() && all(has_answered))) {
    wait_until(deadline);
  }
}

std::vector<Network> Conversation::choose_networks() {
  const std::vector<HostInterfaces> hosts = interfaces(/*with_loopback=*/false);
  if (hosts.size() < 2 || has_one_network(hosts)) return {};
  ask_for_reach(hosts);
  std::set<ReachedAddress> reached;
  const auto add = [&](std::size_t from,
                       const std::vector<std::size_t>& from_list) {
    for (const std::size_t i : from_list) {
      if (i >= targets_.size()) continue;
      reached.insert({from, targets_[i].host, targets_[i].address});
    }
  };
  add(0, reach_.reached());
  for (std::size_t i = 0; i < probes_.size(); ++i) {
    if (probes_[i]->reached()) add(i + 1, *probes_[i]->reached());
  }
  return connecting_networks(hosts, reached);
}

absl::StatusOr<std::vector<std::string>> Conversation::run() {
  start_probes();
  HVD_RETURN_IF_ERROR(await_facts());
  std::vector<Network> networks;
  if (!job_.interfaces.empty()) {
    const std::vector<HostInterfaces> hosts =
        interfaces(/*with_loopback=*/true);
    HVD_ASSIGN_OR_RETURN(networks, named_networks(hosts, job_.interfaces));
    if (all_have_all(hosts, job_.interfaces)) networks.clear();
  } else if (job_.chooses_networks) {
    networks = choose_networks();
  }
  std::vector<std::string> texts;
  for (const Network& network : networks) texts.push_back(to_text(network));
  return texts;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> check_hosts(const Preflight& job) {
  return Conversation(job).run();
}

}  // namespace hvd::launcher
