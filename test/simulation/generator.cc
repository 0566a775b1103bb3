// SPDX-License-Identifier: Apache-2.0
#include "test/simulation/generator.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "test/simulation/program_writer.h"

namespace hvd::simulation {

using coordinator::RequestKind;
using std::chrono::nanoseconds;

Program Generator::generate() {
  choose_job();
  choose_pace();
  choose_options();
  add_tensors(random_.between(1, limits_.max_names));
  const int phases = random_.between(1, limits_.max_phases);
  for (int phase = 0; phase < phases; ++phase) {
    script_.meet();
    phases_.push_back(script_.position());
    const int kind = random_.below(100);
    // A join may wait forever: a stall does not end it.
    if (kind < 55 || (kind < 70 && program_.stalls)) {
      train();
    } else if (kind < 70) {
      join();
    } else if (kind < 85) {
      add_sets();
    } else {
      remove_set();
    }
  }
  finish();
  return std::move(program_);
}

void Generator::choose_job() {
  const int size = random_.between(limits_.min_ranks, limits_.max_ranks);
  const int largest = random_.percent(40) ? 8 : random_.between(1, 8);
  for (int rank = 0; rank < size;) {
    auto& node = program_.nodes.emplace_back();
    for (int i = random_.between(1, largest); i > 0 && rank < size; --i) {
      node.push_back(rank++);
    }
  }
  program_.threads.resize(
      static_cast<std::size_t>(size),
      std::vector<std::vector<Action>>(static_cast<std::size_t>(threads_)));
  std::vector<int> all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  program_.sets.push_back(std::move(all));
  for (int i = random_.percent(25) ? random_.between(1, 3) : 0; i > 0; --i) {
    const std::vector<int> members = random_members();
    if (std::find(program_.sets.begin(), program_.sets.end(), members) !=
        program_.sets.end()) {
      continue;
    }
    program_.options.process_sets.push_back(members);
    live_sets_.push_back(program_.static_sets++);
    program_.sets.push_back(members);
  }
}

void Generator::choose_pace() {
  const std::vector<int> means = {1, 30, 1000, 30000};
  const auto mean = [&] { return nanoseconds(random_.pick(means)); };
  program_.pace = {
      .mail = mean(), .turn = mean(), .caller = mean(), .observe = mean()};
  if (random_.percent(25)) {
    program_.pace.slow_rank = random_.below(program_.size());
  }
  program_.sleepy = random_.percent(85);
  program_.atomic_turns = random_.percent(50);
  program_.strict_executor = random_.percent(50);
  if (random_.percent(30)) {
    program_.most_unread = static_cast<std::uint32_t>(random_.below(6));
  }
}

void Generator::choose_options() {
  auto& options = program_.options;
  options.epoch = 7;
  options.cache_capacity =
      static_cast<std::uint32_t>(random_.percent(50) ? 64 : random_.below(9));
  const std::vector<std::size_t> thresholds = {0, 256, 4096, 1u << 20};
  options.fusion_threshold = random_.pick(thresholds);
  options.hold_back =
      nanoseconds(random_.percent(20) ? random_.between(1, 20000) : 0);
  options.fuse_groups = random_.percent(50);
  options.steps_before_schedule = random_.between(0, 3);
  // Not drawn: other programs of the seed stay as they are.
  options.tuning_steps = static_cast<int>(program_.seed % 3);
  options.stall_warning = nanoseconds(0);
  options.stall_shutdown = nanoseconds(0);
  if (random_.percent(limits_.stalls) && program_.size() > 1) {
    program_.stalls = true;
    program_.sleepy = true;  // Else ranks would poll during the stall.
    options.stall_warning = std::chrono::milliseconds(50);
    options.stall_shutdown = std::chrono::milliseconds(200);
  } else if (random_.percent(10)) {
    options.stall_warning = std::chrono::microseconds(50);
  }
}

std::vector<int> Generator::random_members() {
  std::vector<int> members = program_.sets[0];
  random_.shuffle(members);
  members.resize(static_cast<std::size_t>(
      random_.between(1, static_cast<int>(members.size()))));
  std::sort(members.begin(), members.end());
  return members;
}

void Generator::add_tensors(int count) {
  for (int i = 0; i < count; ++i) {
    Tensor& tensor = tensors_.emplace_back();
    tensor.name = absl::StrCat("t", next_name_++);
    tensor.set = random_.percent(75) ? 0 : random_.pick(live_sets_);
    tensor.request =
        random_request(random_, tensor.name,
                       program_.sets[static_cast<std::size_t>(tensor.set)]);
    tensor.in_flight.assign(static_cast<std::size_t>(program_.size()), -1);
  }
}

// All ranks leave, or one leaves early, or one never leaves.
void Generator::finish() {
  script_.meet();
  for (Tensor& tensor : tensors_) training_.settle(tensor);
  // A rank that takes no part in the others' work must not leave before that
  // work is done.
  submit_and_wait_everywhere(
      {script_.add(item_of_all(RequestKind::kBarrier, "last"))});
  for (int rank = 0; rank < program_.size(); ++rank) {
    script_.thread(rank, 0).push_back({Action::Kind::kLeave});
  }
  if (program_.stalls) {
    relax(cut(random_.below(program_.size()), false), kBroken);
  } else if (random_.percent(limits_.early_leaves)) {
    relax(cut(random_.below(program_.size()), true), kCancelled);
  } else if (random_.percent(limits_.deaths)) {
    choose_deaths();
  }
}

// Ends the actions of `rank` at a random place.
int Generator::cut(int rank, bool leaves) {
  const auto& place = random_.pick(phases_)[static_cast<std::size_t>(rank)];
  for (int i = 0; i < threads_; ++i) {
    std::vector<Action>& thread = script_.thread(rank, i);
    std::size_t end = place[static_cast<std::size_t>(i)];
    for (int more = random_.between(0, 20); more > 0; --more) {
      if (end == thread.size() || thread[end].kind == Action::Kind::kMeet ||
          thread[end].kind == Action::Kind::kLeave) {
        break;
      }
      if (program_.stalls &&
          thread[end].item + 1 == static_cast<int>(program_.items.size())) {
        break;
      }
      ++end;
    }
    thread.resize(end);
    if (threads_ > 1 && leaves) thread.push_back({Action::Kind::kMeet});
  }
  if (leaves) script_.thread(rank, 0).push_back({Action::Kind::kLeave});
  return rank;
}

// Allows `outcome` for items that the cut rank does not complete or takes no
// part in.
void Generator::relax(int rank, unsigned outcome) {
  std::vector<bool> submitted(program_.items.size());
  std::vector<bool> waited(program_.items.size());
  for (int i = 0; i < threads_; ++i) {
    for (const Action& action : script_.thread(rank, i)) {
      const auto item = static_cast<std::size_t>(action.item);
      if (action.kind == Action::Kind::kSubmit) submitted[item] = true;
      if (action.kind == Action::Kind::kWait) waited[item] = true;
    }
  }
  for (std::size_t i = 0; i < program_.items.size(); ++i) {
    Item& item = program_.items[i];
    const bool concerned =
        std::binary_search(item.ranks.begin(), item.ranks.end(), rank);
    if (concerned && waited[i]) continue;
    if (concerned && !submitted[i]) {
      item.allowed &= ~static_cast<unsigned>(kDone);
      item.incomplete = true;
    }
    item.allowed |= outcome;
  }
}

void Generator::choose_deaths() {
  for (int i = random_.percent(70) ? 1 : 2; i > 0; --i) {
    program_.deaths.push_back({.rank = random_.below(program_.size()),
                               .turn = random_.below(200),
                               .mid_sending = random_.percent(30)});
  }
  for (Item& item : program_.items) item.allowed |= kBroken;
}

Program generate(std::uint64_t seed, const Limits& limits) {
  return Generator(seed, limits).generate();
}

}  // namespace hvd::simulation
