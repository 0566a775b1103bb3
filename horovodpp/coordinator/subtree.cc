// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/subtree.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::coordinator {
namespace {

absl::Status said_twice(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("said twice: ", what));
}

absl::Status no_member() {
  return absl::InvalidArgumentError(
      "said of a process set to which the sender does not belong");
}

std::uint64_t low_bits(std::size_t count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

// Merges two proposals for the same key into `merged`.
void merge(Propose& merged, Propose& more) {
  if (more.rank < merged.rank) std::swap(merged, more);
  merged.count += more.count;
  merged.root_is_here = merged.root_is_here || more.root_is_here;
  if (merged.other) return;
  if (find_mismatch(merged.rank, *merged.request, more.rank, *more.request)) {
    merged.other_rank = more.rank;
    merged.other = std::move(more.request);
  } else if (more.other) {
    merged.other_rank = more.other_rank;
    merged.other = std::move(more.other);
  }
}

}  // namespace

Subtree::Subtree(std::shared_ptr<const Tree> tree, int node,
                 const ProcessSets& sets)
    : tree_(std::move(tree)), node_(node) {
  for (const ProcessSetId id : sets.ids()) {
    if (id == kGlobalSet) {
      sets_[id].members = all_sources();
    } else {
      add_set(id, *sets.ranks(id));
    }
  }
}

Subtree::Sources Subtree::all_sources() const {
  return {low_bits(tree_->ranks_of(node_).size()),
          low_bits(tree_->children(node_).size())};
}

std::optional<Subtree::Sources> Subtree::source_of(int rank) const {
  const auto bit_of = [rank](const auto& list, const auto& rank_of) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (rank_of(list[i]) == rank) return std::uint64_t{1} << i;
    }
    return std::uint64_t{0};
  };
  const Sources source = {
      bit_of(tree_->ranks_of(node_), [](int r) { return r; }),
      bit_of(tree_->children(node_),
             [this](int child) { return tree_->leader_of(child); })};
  if (source.empty()) return std::nullopt;
  return source;
}

Subtree::Sources Subtree::members_of(const std::vector<int>& ranks) const {
  Sources members;
  for (const int rank : ranks) {
    int node = tree_->node_of(rank);
    if (node == node_) {
      members = members | *source_of(rank);
      continue;
    }
    while (node != Tree::kNone && tree_->parent(node) != node_) {
      node = tree_->parent(node);
    }
    if (node != Tree::kNone) {
      members = members | *source_of(tree_->leader_of(node));
    }
  }
  return members;
}

void Subtree::add_set(ProcessSetId id, const std::vector<int>& ranks) {
  sets_[id] = {.members = members_of(ranks)};
}

absl::Status Subtree::receive(int from, Message message) {
  const std::optional<Sources> source = source_of(from);
  if (!source) {
    return absl::InvalidArgumentError(
        "a message came up the tree from a rank that is not below this one");
  }
  return std::visit([&](auto& body) { return take(*source, body); }, message);
}

template <typename M>
absl::Status Subtree::take(const Sources&, M&) {
  return absl::InvalidArgumentError("a message that is not for counting");
}

absl::Status Subtree::take(const Sources& from, Propose& message) {
  if (!sets_.contains(message.request->key.process_set)) {
    return absl::OkStatus();
  }
  if (!concerned_by(*message.request).members.includes(from)) {
    return no_member();
  }
  const auto [place, is_new] =
      proposals_.try_emplace(NamedRequest(message.request));
  Count& count = place->second;
  if (count.from.overlaps(from)) return said_twice("a proposal");
  count.from = count.from | from;
  if (is_new) {
    count.merged = std::move(message);
  } else {
    merge(count.merged, message);
  }
  forward_if_complete(place);
  return absl::OkStatus();
}

Subtree::Set Subtree::concerned_by(const Request& request) const {
  if (describe(request.kind).is_of_members) {
    return {.members = members_of(request.ranks)};
  }
  return sets_.find(request.key.process_set)->second;
}

void Subtree::forward_if_complete(RequestMap<Count>::iterator proposal) {
  auto& [request, count] = *proposal;
  const Set set = concerned_by(*request.request());
  if (!(count.from | set.joined).includes(set.members)) return;
  messages_.emplace_back(std::move(count.merged));
  proposals_.erase(proposal);
  // The first step proposes every name, later steps hardly any: free the
  // memory.
  if (proposals_.empty()) proposals_ = {};
}

absl::Status Subtree::take(const Sources&, Outdated& message) {
  messages_.emplace_back(message);
  return absl::OkStatus();
}

absl::Status Subtree::take(const Sources& from, Ready& message) {
  for (const std::uint32_t id : message.ids) {
    const auto set = set_of_id_.find(id);
    // Retired in the meantime: the ranks concerned will propose again.
    if (set == set_of_id_.end()) continue;
    HVD_RETURN_IF_ERROR(count_ready(from, id, set->second));
  }
  return absl::OkStatus();
}

absl::Status Subtree::complete_here(std::uint32_t id, ProcessSetId set) {
  if (!set_of_id_.contains(id)) return absl::OkStatus();
  return count_ready({sets_[set].members.ranks, 0}, id, set);
}

absl::Status Subtree::count_ready(const Sources& from, std::uint32_t id,
                                  ProcessSetId set) {
  Sources& count = ready_[id];
  if (count.overlaps(from)) return said_twice("an id is complete");
  count = count | from;
  if (!count.includes(sets_[set].members)) return absl::OkStatus();
  ready_.erase(id);
  if (!messages_.empty() && std::holds_alternative<Ready>(messages_.back())) {
    std::get<Ready>(messages_.back()).ids.push_back(id);
  } else {
    messages_.emplace_back(Ready{{id}});
  }
  return absl::OkStatus();
}

absl::Status Subtree::take(const Sources& from, Passed& message) {
  for (const std::uint32_t id : message.ids) {
    Sources& count = passed_[id];
    if (count.overlaps(from)) return said_twice("an id is passed");
    count = count | from;
    if (!count.includes(all_sources())) continue;
    passed_.erase(id);
    if (!messages_.empty() &&
        std::holds_alternative<Passed>(messages_.back())) {
      std::get<Passed>(messages_.back()).ids.push_back(id);
    } else {
      messages_.emplace_back(Passed{{id}});
    }
  }
  return absl::OkStatus();
}

absl::Status Subtree::take(const Sources&, Join& message) {
  messages_.emplace_back(message);
  return absl::OkStatus();
}

absl::Status Subtree::take(const Sources& from, Joined& message) {
  const auto found = sets_.find(message.process_set);
  if (found == sets_.end()) return absl::OkStatus();
  Set& set = found->second;
  if (!set.members.includes(from)) return no_member();
  if (set.joined.overlaps(from)) return said_twice("a rank has joined");
  set.joined = set.joined | from;
  set.last_joined = message.last_rank;
  std::vector<Key> keys;
  for (const auto& [request, count] : proposals_) {
    if (request.key().process_set == message.process_set) {
      keys.push_back(request.key());
    }
  }
  std::sort(keys.begin(), keys.end());
  for (const Key& key : keys) forward_if_complete(proposals_.find(key));
  if (set.joined.includes(set.members)) {
    messages_.emplace_back(Joined{message.process_set, set.last_joined});
  }
  return absl::OkStatus();
}

absl::Status Subtree::take(const Sources& from, Leave& message) {
  if (!std::exchange(leave_is_forwarded_, true))
    messages_.emplace_back(message);
  // A child sends Leave when the first rank of its subtree leaves.
  if (from.ranks != 0) {
    if (left_.overlaps(from)) return said_twice("a rank leaves");
    left(from);
  }
  return absl::OkStatus();
}

absl::Status Subtree::take(const Sources& from, AllLeft&) {
  if (left_.overlaps(from)) return said_twice("a subtree has left");
  left(from);
  return absl::OkStatus();
}

void Subtree::left(const Sources& from) {
  left_ = left_ | from;
  if (left_ == all_sources()) messages_.emplace_back(AllLeft{});
}

absl::Status Subtree::take(const Sources&, Stop& message) {
  if (stopped_run_ == message.run) return absl::OkStatus();
  stopped_run_ = message.run;
  messages_.emplace_back(message);
  return absl::OkStatus();
}

absl::Status Subtree::take(const Sources& from, Halted& message) {
  if (halted_.empty()) least_ = message;
  if (halted_.overlaps(from) || least_.run != message.run) {
    return said_twice("a rank has halted");
  }
  halted_ = halted_ | from;
  least_.entered = std::min(least_.entered, message.entered);
  if (!halted_.includes(all_sources())) return absl::OkStatus();
  halted_ = {};
  messages_.emplace_back(least_);
  return absl::OkStatus();
}

// Measurements are a hint: one that does not fit the others' is dropped with
// them, and the oldest of too many that are incomplete.
absl::Status Subtree::take(const Sources& from, Measured& message) {
  constexpr std::size_t kMostOpen = 4;
  Measuring& all = measuring_[message.number];
  if (all.from.empty()) all.latest = message;
  Measured& latest = all.latest;
  if (all.from.overlaps(from) || latest.cycle != message.cycle ||
      latest.arrivals.size() != message.arrivals.size() ||
      latest.ends.size() != message.ends.size()) {
    measuring_.erase(message.number);
    return absl::OkStatus();
  }
  all.from = all.from | from;
  const auto raise = [](std::uint32_t& value, std::uint32_t other) {
    value = std::max(value, other);
  };
  raise(latest.step, message.step);
  raise(latest.spread, message.spread);
  for (std::size_t i = 0; i < latest.arrivals.size(); ++i) {
    raise(latest.arrivals[i], message.arrivals[i]);
  }
  for (std::size_t i = 0; i < latest.ends.size(); ++i) {
    raise(latest.ends[i], message.ends[i]);
  }
  if (all.from.includes(all_sources())) {
    messages_.emplace_back(std::move(latest));
    measuring_.erase(message.number);
  } else if (measuring_.size() > kMostOpen) {
    measuring_.erase(measuring_.begin());
  }
  return absl::OkStatus();
}

void Subtree::defined(const Define& definition) {
  if (definition.slot == kNoSlot) return;
  set_of_id_[definition.id] = definition.request->key.process_set;
}

void Subtree::scheduled(const std::vector<Record>& records,
                        const Definitions& definitions) {
  for (const Record& record : records) {
    if (record.kind == RecordKind::kRetire) {
      set_of_id_.erase(record.id);
      ready_.erase(record.id);
    } else if (record.kind == RecordKind::kJoined) {
      if (const auto set = sets_.find(record.id); set != sets_.end()) {
        set->second.joined = {};
      }
    } else if (record.kind == RecordKind::kEndCycle) {
      // Marks from before the cycle, which no rank holds any more.
      ready_.clear();
    } else if (record.kind == RecordKind::kRun) {
      const Define* definition = definitions(record.id);
      if (definition == nullptr) continue;
      const Request& request = *definition->request;
      if (adds_set(request.kind)) {
        add_set(definition->result, request.ranks);
      } else if (removes_set(request.kind)) {
        forget_set(request.subject);
      }
    }
  }
}

void Subtree::forget_set(ProcessSetId id) {
  sets_.erase(id);
  absl::erase_if(set_of_id_, [this, id](const auto& entry) {
    if (entry.second == id) ready_.erase(entry.first);
    return entry.second == id;
  });
  absl::erase_if(proposals_, [id](const auto& proposal) {
    return proposal.first.key().process_set == id;
  });
}

std::vector<Message>& Subtree::take_messages() {
  taken_.clear();
  taken_.swap(messages_);
  return taken_;
}

}  // namespace hvd::coordinator
