// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/preflight/preflight.h"

#include <poll.h>

#include <algorithm>
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
#include "horovodrun/system/ssh_options.h"

namespace hvd::launcher {
namespace {

using std::chrono::milliseconds;

// For further hosts to fail, after the first.
constexpr milliseconds kMoreFailures{300};
// For the answers of hosts, after this host's own attempts to reach them.
constexpr milliseconds kReachAnswerTimeout{1000};
// A probe's end is polled: its streams may stay open.
constexpr milliseconds kProbePollInterval{50};
constexpr std::size_t kMaxProblems = 8;

// Of the hosts that have answered.
std::vector<HostInterfaces> interfaces_of(const HostAnswers& answers) {
  std::vector<HostInterfaces> hosts;
  for (const HostAnswer& answer : answers.hosts) {
    if (answer.facts) hosts.push_back({answer.host, answer.facts->interfaces});
  }
  return hosts;
}

class Conversation {
 public:
  explicit Conversation(const Preflight& job)
      : job_(job), begin_(Clock::steady().now()) {}

  HostAnswers run();

 private:
  void start_probes();
  void await_facts();
  std::string problem_of(const HostProbe& probe) const;
  void choose_networks(HostAnswers* answers);
  void ask_for_reach(const std::vector<HostInterfaces>& hosts);
  void wait_until(Clock::TimePoint deadline);
  bool all(const std::function<bool(const HostProbe&)>& test) const;
  bool any(const std::function<bool(const HostProbe&)>& test) const;

  const Preflight& job_;
  HostFacts own_ = own_facts();
  const Clock::TimePoint begin_;
  Reach reach_;
  std::vector<std::unique_ptr<HostProbe>> probes_;
  // Host 0 is this one, and host i + 1 that of probe i.
  std::vector<ReachTarget> targets_;
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
  if (job_.is_thorough) {
    command.emplace_back(kDetails);
  } else if (!job_.folder.empty()) {
    command.push_back(job_.folder);
  }
  std::set<std::string> asked;
  for (const std::string& host : job_.hosts) {
    if (!asked.insert(host).second ||
        is_own_host(host, job_.own_name, own_.interfaces)) {
      continue;
    }
    probes_.push_back(std::make_unique<HostProbe>(
        host, without_questions(job_.shell), command, job_.environment));
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

// Empty: none.
std::string Conversation::problem_of(const HostProbe& probe) const {
  if (probe.failed()) return explain(probe.end());
  const HostFacts* facts = probe.facts();
  if (facts == nullptr) return explain_silence(probe.host(), job_.timeout);
  if (facts->version != own_.version) {
    return explain_version(probe.end(), facts->version, own_.version);
  }
  if (facts->problem.empty()) return "";
  return absl::StrCat("host '", probe.host(), "': ", facts->problem);
}

void Conversation::await_facts() {
  Clock::TimePoint deadline = begin_ + job_.timeout;
  bool failed = false;
  while (Clock::steady().now() < deadline && !all([](const HostProbe& probe) {
           return probe.failed() || probe.facts() != nullptr;
         })) {
    wait_until(deadline);
    if (failed || job_.is_thorough) continue;
    if (any([](const HostProbe& probe) { return probe.failed(); })) {
      failed = true;
      deadline = std::min(deadline, Clock::steady().now() + kMoreFailures);
    }
  }
  // mpirun needs no ssh to this host.
  std::erase_if(probes_, [&](const auto& probe) {
    return probe->failed() && !is_unknown_name(probe->end()) &&
           resolves_to_own_host(probe->host(), own_.interfaces);
  });
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

void Conversation::choose_networks(HostAnswers* answers) {
  std::vector<HostInterfaces> hosts = interfaces_of(*answers);
  for (HostInterfaces& host : hosts) {
    std::erase_if(host.interfaces,
                  [](const Interface& one) { return one.is_loopback(); });
  }
  answers->have_one_network = has_one_network(hosts);
  if (hosts.size() < 2 || answers->have_one_network) return;
  ask_for_reach(hosts);
  std::set<ReachedAddress> reached;
  const auto add = [&](std::size_t from, const std::vector<std::size_t>& all) {
    for (const std::size_t i : all) {
      if (i >= targets_.size()) continue;
      reached.insert({from, targets_[i].host, targets_[i].address});
    }
  };
  add(0, reach_.reached());
  for (std::size_t i = 0; i < probes_.size(); ++i) {
    if (probes_[i]->reached()) add(i + 1, *probes_[i]->reached());
  }
  answers->networks = connecting_networks(hosts, reached);
}

HostAnswers Conversation::run() {
  start_probes();
  if (job_.is_thorough) add_details(&own_);
  await_facts();
  const bool any_failed =
      any([](const HostProbe& probe) { return probe.failed(); });
  HostAnswers answers = {.hosts = {{.host = job_.own_name, .facts = own_}}};
  bool is_well = true;
  for (const auto& probe : probes_) {
    HostAnswer answer = {.host = probe->host()};
    if (probe->facts() != nullptr) {
      answer.facts = *probe->facts();
      answer.clock_skew = probe->clock_skew();
    }
    // Hosts that were not waited for have none.
    const bool was_cut_off =
        any_failed && !job_.is_thorough && !probe->failed() && !answer.facts;
    if (!was_cut_off) answer.problem = problem_of(*probe);
    is_well = is_well && answer.facts && answer.problem.empty();
    answers.hosts.push_back(std::move(answer));
  }
  if (is_well && job_.chooses_networks) choose_networks(&answers);
  return answers;
}

absl::Status first_problems(const HostAnswers& answers) {
  std::vector<std::string> problems;
  std::size_t more = 0;
  for (const HostAnswer& answer : answers.hosts) {
    if (answer.problem.empty()) continue;
    if (problems.size() < kMaxProblems) {
      problems.push_back(answer.problem);
    } else {
      ++more;
    }
  }
  if (problems.empty()) return absl::OkStatus();
  std::string text = absl::StrJoin(problems, "; ");
  if (more > 0) absl::StrAppend(&text, "; and ", more, " more hosts");
  return absl::FailedPreconditionError(text);
}

}  // namespace

HostAnswers ask_hosts(const Preflight& job) { return Conversation(job).run(); }

absl::StatusOr<std::vector<std::string>> check_hosts(const Preflight& job) {
  Preflight asked = job;
  asked.chooses_networks = job.chooses_networks && job.interfaces.empty();
  const HostAnswers answers = ask_hosts(asked);
  HVD_RETURN_IF_ERROR(first_problems(answers));
  std::vector<Network> networks = answers.networks;
  if (!job.interfaces.empty()) {
    const std::vector<HostInterfaces> hosts = interfaces_of(answers);
    HVD_ASSIGN_OR_RETURN(networks, named_networks(hosts, job.interfaces));
    if (all_have_all(hosts, job.interfaces)) networks.clear();
  }
  std::vector<std::string> texts;
  for (const Network& network : networks) texts.push_back(to_text(network));
  return texts;
}

}  // namespace hvd::launcher
