// SPDX-License-Identifier: Apache-2.0
#include "test/simulation/program_writer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "test/simulation/random.h"

namespace hvd::simulation {
namespace {

// Chances per step and name, in percent.
constexpr int kMismatchChance = 2;
constexpr int kNewShapeChance = 2;
constexpr int kAbsentChance = 1;
constexpr int kLateChance = 3;

void make_rows_differ(Random& random, Item& item) {
  for (const int rank : item.ranks) {
    item.instead[rank] = with_other_rows(random, item.request);
  }
}

void make_mismatch(Random& random, Item& item) {
  const coordinator::Request other = with_difference(random, item.request);
  const int agreeing = random.below(static_cast<int>(item.ranks.size()));
  bool differs = false;
  for (const int rank : item.ranks) {
    if (rank == item.ranks[static_cast<std::size_t>(agreeing)]) continue;
    if (differs && random.percent(50)) continue;
    item.instead[rank] = other;
    differs = true;
  }
  item.allowed = kMismatch;
}

}  // namespace

void Training::run(const std::vector<Tensor*>& tensors, int steps, bool calm) {
  for (int step = 0; step < steps; ++step) {
    const std::vector<Planned> planned = plan(tensors, calm);
    for (int rank = 0; rank < program_.size(); ++rank) {
      for (int thread = 0; thread < threads_; ++thread) {
        std::vector<Planned> mine;
        for (const Planned& one : planned) {
          const auto& ranks = script_.item(one.item).ranks;
          if (one.thread == thread &&
              std::binary_search(ranks.begin(), ranks.end(), rank)) {
            mine.push_back(one);
          }
        }
        act(rank, thread, std::move(mine));
      }
    }
  }
}

std::vector<Training::Planned> Training::plan(
    const std::vector<Tensor*>& tensors, bool calm) {
  std::vector<Planned> planned;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!calm && random_.percent(kAbsentChance)) continue;
    planned.push_back(plan_tensor(
        *tensors[i], static_cast<int>(i % static_cast<std::size_t>(threads_)),
        calm));
  }
  if (!calm && random_.percent(5)) {
    planned.push_back(plan_once(random_.below(threads_)));
  }
  return planned;
}

Training::Planned Training::plan_tensor(Tensor& tensor, int thread, bool calm) {
  const std::vector<int>& members =
      program_.sets[static_cast<std::size_t>(tensor.set)];
  if (!calm && random_.percent(kNewShapeChance)) {
    tensor.request = with_other_shape(random_, std::move(tensor.request));
  }
  Item item = {.request = tensor.request, .ranks = members, .set = tensor.set};
  if (!calm && members.size() > 1 && random_.percent(kMismatchChance)) {
    make_mismatch(random_, item);
  } else if (has_free_rows(item.request)) {
    make_rows_differ(random_, item);
  }
  return {.item = script_.add(std::move(item)),
          .thread = thread,
          .tensor = &tensor,
          .late = random_.percent(calm ? 1 : kLateChance)};
}

Training::Planned Training::plan_once(int thread) {
  Item item = {.ranks = program_.sets[0]};
  item.request =
      random_request(random_, absl::StrCat("once.", next_once_++), item.ranks);
  item.request.once = true;
  return {.item = script_.add(std::move(item)), .thread = thread};
}

// Late items come last on ranks that wait after each submission, so that no two
// ranks wait for each other.
void Training::act(int rank, int thread, std::vector<Planned> mine) {
  std::stable_partition(mine.begin(), mine.end(),
                        [](const Planned& one) { return !one.late; });
  if (random_.percent(10)) return act_in_order(rank, thread, mine);
  const auto first_late = std::find_if(
      mine.begin(), mine.end(), [](const Planned& one) { return one.late; });
  std::vector<Planned> prompt(mine.begin(), first_late);
  std::vector<Planned> late(first_late, mine.end());
  random_.shuffle(prompt);
  if (late.empty() || random_.percent(50)) {
    prompt.insert(prompt.end(), late.begin(), late.end());
    random_.shuffle(prompt);
    for (const Planned& one : prompt) submit(rank, thread, one);
    return wait_for_rest(rank, thread, std::move(prompt));
  }
  for (const Planned& one : prompt) submit(rank, thread, one);
  std::vector<Planned> rest;
  for (const Planned& one : prompt) {
    if (random_.percent(50)) {
      script_.wait(rank, thread, one.item);
      if (one.tensor) {
        one.tensor->in_flight[static_cast<std::size_t>(rank)] = -1;
      }
    } else {
      rest.push_back(one);
    }
  }
  for (const Planned& one : late) submit(rank, thread, one);
  rest.insert(rest.end(), late.begin(), late.end());
  wait_for_rest(rank, thread, std::move(rest));
}

void Training::act_in_order(int rank, int thread,
                            const std::vector<Planned>& mine) {
  for (const Planned& one : mine) {
    submit(rank, thread, one);
    script_.wait(rank, thread, one.item);
    if (one.tensor) {
      one.tensor->in_flight[static_cast<std::size_t>(rank)] = -1;
    }
  }
}

void Training::submit(int rank, int thread, const Planned& planned) {
  if (planned.tensor) settle_on(rank, thread, *planned.tensor);
  script_.submit(rank, thread, planned.item);
  if (planned.tensor) {
    planned.tensor->in_flight[static_cast<std::size_t>(rank)] = planned.item;
  }
}

void Training::wait_for_rest(int rank, int thread, std::vector<Planned> mine) {
  random_.shuffle(mine);
  for (const Planned& one : mine) {
    // Some stay in flight for the next step.
    if (one.tensor && random_.percent(8)) continue;
    script_.wait(rank, thread, one.item);
    if (one.tensor) {
      one.tensor->in_flight[static_cast<std::size_t>(rank)] = -1;
    }
  }
}

void Training::settle_on(int rank, int thread, Tensor& tensor) {
  int& item = tensor.in_flight[static_cast<std::size_t>(rank)];
  if (item >= 0) script_.wait(rank, thread, item);
  item = -1;
}

void Training::settle(Tensor& tensor) {
  for (int rank = 0; rank < program_.size(); ++rank) {
    settle_on(rank, 0, tensor);
  }
}

}  // namespace hvd::simulation
