// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/preflight/links.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/thread/clock.h"
#include "horovodrun/preflight/dialog.h"
#include "horovodrun/preflight/host_probe.h"
#include "horovodrun/system/abstract_socket.h"
#include "horovodrun/system/ssh_options.h"

namespace hvd::launcher {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMaxRounds = 15;
// Beyond the time that both ends take themselves.
constexpr milliseconds kRoundTimeout = kServeTime + milliseconds(2000);
constexpr milliseconds kFirstRoundTimeout = kRoundTimeout + milliseconds(10000);
constexpr milliseconds kLinkPollInterval{50};
// Below that, a difference tells nothing of the network.
constexpr double kMinLatencyUs = 200;
constexpr std::size_t kMinCompared = 3;

// The network of the address, if it is one of `networks`, or any if there are
// none.
bool is_usable(const Interface& one, const std::vector<Network>& networks) {
  return !one.is_loopback() &&
         (networks.empty() || std::find(networks.begin(), networks.end(),
                                        one.network()) != networks.end());
}

class LinkSurvey {
 public:
  LinkSurvey(const Preflight& job, const HostAnswers& answers)
      : answers_(answers) {
    const std::vector<std::string> command = {job.program, kMeasureLink};
    const std::vector<std::string> shell = without_questions(job.shell);
    for (const HostAnswer& host : answers.hosts) {
      ends_.push_back(std::make_unique<Dialog>(
          ends_.empty() ? command : command_at(shell, host.host, command),
          job.environment));
    }
  }

  std::vector<Link> run() {
    milliseconds timeout = kFirstRoundTimeout;
    for (const auto& pairs : rounds_of_pairs(ends_.size(), kMaxRounds)) {
      measure(pairs, timeout);
      timeout = kRoundTimeout;
    }
    return std::move(links_);
  }

 private:
  struct Open {
    Link link{};
    std::uint32_t address = 0;
    std::string key{};
    bool is_done = false;
  };

  void measure(const std::vector<HostPair>& pairs, milliseconds timeout) {
    open_.clear();
    for (const auto& [from, to] : pairs) begin(from, to);
    const Clock::TimePoint end = Clock::steady().now() + timeout;
    const auto all_done = [&] {
      return std::all_of(open_.begin(), open_.end(),
                         [](const Open& one) { return one.is_done; });
    };
    while (!all_done() && Clock::steady().now() < end) {
      std::vector<pollfd> fds;
      for (const auto& dialog : ends_) dialog->add_awaited(&fds);
      poll(fds.data(), fds.size(), static_cast<int>(kLinkPollInterval.count()));
      for (std::size_t i = 0; i < ends_.size(); ++i) advance(i);
    }
    for (Open& one : open_) {
      if (!one.is_done) one.link.problem = "the hosts did not answer in time";
      links_.push_back(std::move(one.link));
    }
  }

  void begin(std::size_t from, std::size_t to) {
    Open open = {.link = {.from = from, .to = to},
                 .key = absl::StrCat(random_token(), random_token())};
    const auto address =
        address_between(*answers_.hosts[from].facts, *answers_.hosts[to].facts,
                        answers_.networks);
    if (address) {
      open.address = *address;
      ends_[to]->send(serve_order(open.key));
    } else {
      open.link.problem = "no network that both have";
      open.is_done = true;
    }
    open_.push_back(std::move(open));
  }

  void advance(std::size_t host) {
    for (const std::string& line : ends_[host]->advance()) {
      if (const auto answer = parse_link_answer(line)) take(host, *answer);
    }
    if (!ends_[host]->has_ended()) return;
    for (Open& open : open_) {
      if (open.is_done || (open.link.from != host && open.link.to != host)) {
        continue;
      }
      finish(open, absl::StrCat("horovodrun on '", answers_.hosts[host].host,
                                "' ended early"));
    }
  }

  static void finish(Open& open, std::string problem) {
    open.link.problem = std::move(problem);
    open.is_done = true;
  }

  // The server says its port, and the other end then the figures.
  void take(std::size_t host, const LinkAnswer& answer) {
    for (Open& open : open_) {
      if (open.is_done || (open.link.from != host && open.link.to != host)) {
        continue;
      }
      if (answer.port != 0 && host == open.link.to) {
        ends_[open.link.from]->send(
            measure_order(open.address, answer.port, open.key));
      } else if (answer.figures && host == open.link.from) {
        open.link.figures = answer.figures;
        open.is_done = true;
      } else if (!answer.problem.empty()) {
        finish(open, answer.problem);
      }
    }
  }

  const HostAnswers& answers_;
  std::vector<std::unique_ptr<Dialog>> ends_;  // One on each host.
  std::vector<Open> open_;                     // Of this round.
  std::vector<Link> links_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double slower_way(const Link& link) {
  return std::min(link.figures->there, link.figures->back);
}

}  // namespace

// The circle method: host 0 stays, the others move on by one place a round.
std::vector<std::vector<HostPair>> rounds_of_pairs(std::size_t hosts,
                                                   std::size_t most) {
  std::vector<std::vector<HostPair>> rounds;
  const std::size_t places = hosts + hosts % 2;
  if (hosts < 2) return rounds;
  for (std::size_t round = 0; round + 1 < places && round < most; ++round) {
    std::vector<HostPair> pairs;
    const auto host_at = [&](std::size_t place) {
      return place == 0 ? 0 : 1 + (place - 1 + round) % (places - 1);
    };
    for (std::size_t i = 0; i < places / 2; ++i) {
      const auto [from, to] =
          std::minmax({host_at(i), host_at(places - 1 - i)});
      if (to < hosts) pairs.emplace_back(from, to);
    }
    rounds.push_back(std::move(pairs));
  }
  return rounds;
}

std::optional<std::uint32_t> address_between(
    const HostFacts& from, const HostFacts& to,
    const std::vector<Network>& networks) {
  for (const Interface& there : to.interfaces) {
    if (!is_usable(there, networks)) continue;
    const bool is_shared =
        std::any_of(from.interfaces.begin(), from.interfaces.end(),
                    [&](const Interface& here) {
                      // A bridge has one address on all hosts.
                      return here.network() == there.network() &&
                             here.address != there.address;
                    });
    if (is_shared) return there.address;
  }
  for (const Interface& there : to.interfaces) {
    if (is_usable(there, networks)) return there.address;
  }
  return std::nullopt;
}

std::vector<Link> test_links(const Preflight& job, const HostAnswers& answers) {
  std::signal(SIGPIPE, SIG_IGN);
  return LinkSurvey(job, answers).run();
}

bool is_far_slower(const Link& link, const std::vector<Link>& links) {
  std::vector<double> rates;
  std::vector<double> latencies;
  for (const Link& one : links) {
    if (!one.figures) continue;
    rates.push_back(slower_way(one));
    latencies.push_back(one.figures->latency_us);
  }
  if (!link.figures || rates.size() < kMinCompared) return false;
  return slower_way(link) * 3 < median(rates) ||
         link.figures->latency_us >
             std::max(kMinLatencyUs, 3 * median(latencies));
}

}  // namespace hvd::launcher
