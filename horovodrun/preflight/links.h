// SPDX-License-Identifier: Apache-2.0
// The test of the links between hosts for horovodrun doctor: latency and
// bandwidth of each pair, by a TCP connection. Pairs of different hosts are
// measured at the same time, in rounds in which each host is in one pair.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "horovodrun/preflight/host_facts.h"
#include "horovodrun/preflight/link_end.h"
#include "horovodrun/preflight/preflight.h"

namespace hvd::launcher {

struct Link {
  std::size_t from = 0;  // Places among the answers' hosts,
  std::size_t to = 0;    // from < to.
  std::optional<LinkFigures> figures{};
  std::string problem{};  // Why there are none.
};

// Rounds of pairs: each pair of `hosts` hosts once, in as few rounds as
// possible, but at most `most` rounds.
using HostPair = std::pair<std::size_t, std::size_t>;
std::vector<std::vector<HostPair>> rounds_of_pairs(std::size_t hosts,
                                                   std::size_t most);

// The address at which `from` reaches `to`: on one of `networks`, or else on a
// network that both have; nullopt: there is none.
std::optional<std::uint32_t> address_between(
    const HostFacts& from, const HostFacts& to,
    const std::vector<Network>& networks);

// Measures the links of hosts that have all answered without a problem; each
// round takes about 1.5 s.
std::vector<Link> test_links(const Preflight& job, const HostAnswers& answers);

// Whether the link is far slower than most `links`: below a third of their
// median bandwidth, or above three times their median latency.
bool is_far_slower(const Link& link, const std::vector<Link>& links);

}  // namespace hvd::launcher
