// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "test/simulation/program_writer.h"

namespace hvd::simulation {

using coordinator::RequestKind;

// Often (60 %) trains only with operations that can be in a cycle.
void Generator::train() {
  const bool plain = random_.percent(60);
  if (random_.percent(20)) add_tensors(1);
  std::vector<Tensor*> chosen;
  for (Tensor& tensor : tensors_) {
    if (plain && tensor.set != 0) continue;
    if (plain && (tensor.request.kind == RequestKind::kBroadcast ||
                  tensor.request.kind == RequestKind::kAlltoall ||
                  tensor.request.kind == RequestKind::kBarrier)) {
      continue;
    }
    if (random_.percent(85)) chosen.push_back(&tensor);
  }
  random_.shuffle(chosen);
  training_.run(
      chosen,
      random_.percent(15) ? random_.between(10, 20) : random_.between(1, 8),
      random_.percent(60));
  script_.meet();
  if (random_.percent(50)) {
    for (Tensor& tensor : tensors_) training_.settle(tensor);
  }
}

// Members of one set or two make different numbers of rounds, then join. With
// two sets, ranks wait only at the end: otherwise a rank might join one set
// while it waits for a rank in the other.
void Generator::join() {
  std::vector<int> sets = {random_.percent(60) ? 0 : random_.pick(live_sets_)};
  const int other = random_.pick(live_sets_);
  if (random_.percent(30) && other != sets[0]) sets.push_back(other);
  std::vector<std::vector<int>> waits(
      static_cast<std::size_t>(program_.size()));
  for (const int set : sets) {
    const auto& members = program_.sets[static_cast<std::size_t>(set)];
    std::vector<int> rounds(static_cast<std::size_t>(program_.size()));
    const int most = random_.between(0, 4);
    int last = -1;
    for (const int rank : members) {
      rounds[static_cast<std::size_t>(rank)] = random_.between(0, most);
    }
    for (int round = 0; round < most; ++round) {
      for (Tensor& tensor : tensors_) {
        if (tensor.set != set || !random_.percent(60)) continue;
        if (sets.size() > 1 && round > 0) continue;
        round_of(tensor, round, rounds, waits);
      }
      if (sets.size() > 1 || random_.percent(30)) continue;
      for (const int rank : members) {
        for (const int item : waits[static_cast<std::size_t>(rank)]) {
          script_.wait(rank, 0, item);
          // The item is over only after all other ranks have joined.
          if (script_.item(item).ranks.size() == 1) last = rank;
        }
        waits[static_cast<std::size_t>(rank)].clear();
      }
    }
    Item item = {.ranks = members, .set = set, .last = last};
    item.request.kind = RequestKind::kJoin;
    item.request.key.name = "join";
    const int joined = script_.add(std::move(item));
    for (const int rank : members) {
      script_.submit(rank, 0, joined);
      waits[static_cast<std::size_t>(rank)].push_back(joined);
    }
  }
  for (int rank = 0; rank < program_.size(); ++rank) {
    auto& mine = waits[static_cast<std::size_t>(rank)];
    random_.shuffle(mine);
    for (const int item : mine) script_.wait(rank, 0, item);
  }
  for (Tensor& tensor : tensors_) training_.settle(tensor);
}

// One operation of all members with more than `round` rounds.
void Generator::round_of(Tensor& tensor, int round,
                         const std::vector<int>& rounds,
                         std::vector<std::vector<int>>& waits) {
  const auto& members = program_.sets[static_cast<std::size_t>(tensor.set)];
  Item item = {.request = tensor.request, .set = tensor.set};
  for (const int rank : members) {
    if (rounds[static_cast<std::size_t>(rank)] > round) {
      item.ranks.push_back(rank);
    }
  }
  if (item.ranks.empty()) return;
  const bool all_take_part = item.ranks.size() == members.size();
  const bool root_is_there = std::find(item.ranks.begin(), item.ranks.end(),
                                       item.request.root) != item.ranks.end();
  if ((item.request.kind == RequestKind::kAlltoall && !all_take_part) ||
      (item.request.kind == RequestKind::kBroadcast && !root_is_there)) {
    item.allowed = kMismatch;
  }
  const std::vector<int> ranks = item.ranks;
  const int index = script_.add(std::move(item));
  for (const int rank : ranks) {
    // A name must not be in flight twice, so this rank waits for the previous
    // use first.
    auto& mine = waits[static_cast<std::size_t>(rank)];
    int& in_flight = tensor.in_flight[static_cast<std::size_t>(rank)];
    if (in_flight >= 0) {
      script_.wait(rank, 0, in_flight);
      mine.erase(std::remove(mine.begin(), mine.end(), in_flight), mine.end());
    }
    in_flight = index;
    script_.submit(rank, 0, index);
    mine.push_back(index);
  }
}

Item Generator::item_of_all(RequestKind kind, const std::string& name) {
  Item item = {.ranks = program_.sets[0]};
  item.request.kind = kind;
  item.request.key.name = name;
  return item;
}

void Generator::submit_and_wait_everywhere(const std::vector<int>& items) {
  for (int rank = 0; rank < program_.size(); ++rank) {
    std::vector<int> order = items;
    std::erase_if(order, [&](int item) {
      const std::vector<int>& ranks = script_.item(item).ranks;
      return std::find(ranks.begin(), ranks.end(), rank) == ranks.end();
    });
    random_.shuffle(order);
    for (const int item : order) script_.submit(rank, 0, item);
    random_.shuffle(order);
    for (const int item : order) script_.wait(rank, 0, item);
  }
}

bool Generator::is_of_members(int set) const {
  return std::find(sets_of_members_.begin(), sets_of_members_.end(), set) !=
         sets_of_members_.end();
}

void Generator::add_sets() {
  std::vector<int> items;
  std::vector<std::vector<int>> wanted;
  for (int i = random_.between(1, 2); i > 0; --i) {
    std::vector<int> members = random_members();
    if (std::find(wanted.begin(), wanted.end(), members) != wanted.end()) {
      continue;
    }
    wanted.push_back(members);
    Item item = item_of_all(RequestKind::kAddProcessSet,
                            absl::StrCat("add.", next_name_++));
    item.request.ranks = members;
    const bool by_members = random_.percent(40);
    if (by_members) {
      item.request.kind = RequestKind::kNewProcessSet;
      item.ranks = members;
    }
    // A set that its members have made may have the same ranks.
    const bool exists =
        !by_members &&
        std::any_of(live_sets_.begin(), live_sets_.end(), [&](int set) {
          return program_.sets[static_cast<std::size_t>(set)] == members &&
                 !is_of_members(set);
        });
    if (!by_members && program_.size() > 1 && random_.percent(10)) {
      const int odd = random_.below(program_.size());
      item.instead[odd] = item.request;
      item.instead[odd].ranks = {odd, odd};
      item.allowed = kMismatch;
    } else if (exists) {
      item.allowed = kRefused;
    } else {
      item.adds = static_cast<int>(program_.sets.size());
      program_.sets.push_back(members);
      if (by_members) sets_of_members_.push_back(item.adds);
    }
    items.push_back(script_.add(std::move(item)));
  }
  submit_and_wait_everywhere(items);
  for (const int item : items) {
    if (script_.item(item).adds >= 0) {
      live_sets_.push_back(script_.item(item).adds);
    }
  }
  add_tensors(random_.between(0, 2));
}

// Removes a set, also while all or single members have operations in flight
// there.
void Generator::remove_set() {
  Item removal = item_of_all(RequestKind::kRemoveProcessSet,
                             absl::StrCat("remove.", next_name_++));
  const int set = random_.pick(live_sets_);
  removal.removes = set;
  if (set == 0) {
    removal.allowed = kMismatch;
    return submit_and_wait_everywhere({script_.add(std::move(removal))});
  }
  const auto& members = program_.sets[static_cast<std::size_t>(set)];
  std::vector<std::vector<int>> waits(
      static_cast<std::size_t>(program_.size()));
  for (Tensor& tensor : tensors_) {
    if (tensor.set != set) continue;
    training_.settle(tensor);
    if (random_.percent(50)) continue;
    Item item = {
        .request = tensor.request, .set = set, .allowed = kDone | kCancelled};
    const bool all = random_.percent(30);
    for (const int rank : members) {
      if (all || random_.percent(50)) item.ranks.push_back(rank);
    }
    if (item.ranks.size() < members.size()) {
      item.allowed = kCancelled;
      item.incomplete = true;
    }
    const std::vector<int> ranks = item.ranks;
    const int index = script_.add(std::move(item));
    for (const int rank : ranks) {
      script_.submit(rank, 0, index);
      waits[static_cast<std::size_t>(rank)].push_back(index);
    }
  }
  // Others do not know the number of a set that its members have made.
  if (is_of_members(set) || random_.percent(40)) {
    removal.request.kind = RequestKind::kFreeProcessSet;
    removal.request.ranks = removal.ranks = members;
  }
  const std::vector<int> removing = removal.ranks;
  const int index = script_.add(std::move(removal));
  for (const int rank : removing) {
    script_.submit(rank, 0, index);
    auto& mine = waits[static_cast<std::size_t>(rank)];
    mine.push_back(index);
    random_.shuffle(mine);
    for (const int item : mine) script_.wait(rank, 0, item);
  }
  std::erase_if(tensors_, [set](const Tensor& t) { return t.set == set; });
  std::erase(live_sets_, set);
}

}  // namespace hvd::simulation
