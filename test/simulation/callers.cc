// SPDX-License-Identifier: Apache-2.0
#include "test/simulation/callers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hvd::simulation {

using coordinator::Key;
using coordinator::ProcessSetId;
using coordinator::Request;

Callers::Callers(const Program& program, int rank)
    : program_(program),
      rank_(rank),
      threads_(program.threads[static_cast<std::size_t>(rank)].size()),
      outcomes_(program.items.size()),
      submitted_(program.items.size()) {
  for (int set = 0; set < program.static_sets; ++set) {
    numbers_[set] = static_cast<ProcessSetId>(set);
  }
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    runnable_.push_back(static_cast<int>(i));
  }
}

const Action* Callers::current(int thread) const {
  const auto& actions = program_.threads[static_cast<std::size_t>(rank_)]
                                        [static_cast<std::size_t>(thread)];
  const std::size_t next = threads_[static_cast<std::size_t>(thread)].next;
  return next < actions.size() ? &actions[next] : nullptr;
}

void Callers::go_on(int thread) {
  Thread& mine = threads_[static_cast<std::size_t>(thread)];
  mine.blocked = false;
  ++mine.next;
  if (current(thread) != nullptr) runnable_.push_back(thread);
}

std::string Callers::act(int thread) {
  const Action* action = current(thread);
  if (action == nullptr) return "";
  Thread& mine = threads_[static_cast<std::size_t>(thread)];
  switch (action->kind) {
    case Action::Kind::kSubmit:
      submit(action->item);
      go_on(thread);
      return absl::StrCat("submits item ", action->item);
    case Action::Kind::kWait:
      if (outcome(action->item) != 0) {
        go_on(thread);
      } else {
        mine.blocked = true;
        waited_for_.push_back(
            resolve(program_.items[static_cast<std::size_t>(action->item)])
                .key);
      }
      return absl::StrCat("waits for item ", action->item);
    case Action::Kind::kMeet:
      mine.blocked = true;
      if (++met_ == static_cast<int>(threads_.size())) {
        met_ = 0;
        for (std::size_t i = 0; i < threads_.size(); ++i) {
          go_on(static_cast<int>(i));
        }
      }
      return "meets";
    case Action::Kind::kLeave:
      break;
  }
  leave_ = true;
  go_on(thread);
  return "leaves";
}

// This rank's request for the item, with the current ids of process sets.
Request Callers::resolve(const Item& item) const {
  Request request = item.request_of(rank_);
  const auto number_of = [this](int set) {
    const auto number = numbers_.find(set);
    return number == numbers_.end() ? static_cast<ProcessSetId>(0xffff0000u) +
                                          static_cast<ProcessSetId>(set)
                                    : number->second;
  };
  request.key.process_set = number_of(item.set);
  if (item.removes >= 0) request.subject = number_of(item.removes);
  return request;
}

void Callers::submit(int item) {
  const Request request =
      resolve(program_.items[static_cast<std::size_t>(item)]);
  submitted_[static_cast<std::size_t>(item)] = true;
  if (closed_) {
    outcomes_[static_cast<std::size_t>(item)] = kBroken;
    return;
  }
  in_flight_[request.key] = item;
  requests_.push_back(request);
}

std::vector<int> Callers::take_runnable() {
  return std::exchange(runnable_, {});
}
std::vector<Request> Callers::take_requests() {
  return std::exchange(requests_, {});
}
std::vector<Key> Callers::take_waited_for() {
  std::vector<Key> keys = std::exchange(waited_for_, {});
  std::erase_if(keys, [this](const Key& key) { return in_flight(key) < 0; });
  return keys;
}
bool Callers::take_leave() { return std::exchange(leave_, false); }

int Callers::in_flight(const Key& key) const {
  const auto found = in_flight_.find(key);
  return found == in_flight_.end() ? -1 : found->second;
}

bool Callers::has_joined(ProcessSetId set) const {
  const int item = in_flight(Key{set, "join"});
  return item >= 0 &&
         program_.items[static_cast<std::size_t>(item)].request.kind ==
             coordinator::RequestKind::kJoin;
}

void Callers::settle(const Key& key, Outcome outcome, std::int64_t result) {
  const auto found = in_flight_.find(key);
  if (found == in_flight_.end()) return;
  const int item = found->second;
  in_flight_.erase(found);
  outcomes_[static_cast<std::size_t>(item)] =
      static_cast<std::uint8_t>(outcome);
  const int adds = program_.items[static_cast<std::size_t>(item)].adds;
  if (adds >= 0 && outcome == kDone) {
    numbers_[adds] = static_cast<ProcessSetId>(result);
  }
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    const Action* action = current(static_cast<int>(i));
    if (threads_[i].blocked && action->kind == Action::Kind::kWait &&
        action->item == item) {
      go_on(static_cast<int>(i));
    }
  }
}

void Callers::close() {
  closed_ = true;
  std::vector<Key> keys;
  for (const auto& [key, item] : in_flight_) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  for (const Key& key : keys) settle(key, kBroken);
}

bool Callers::finished() const {
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    if (current(static_cast<int>(i)) != nullptr) return false;
  }
  return true;
}

std::string Callers::describe() const {
  std::string text;
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    const Action* action = current(static_cast<int>(i));
    if (action == nullptr) {
      absl::StrAppend(&text, " thread ", i, " is done;");
      continue;
    }
    absl::StrAppend(
        &text, " thread ", i, " is at action ", threads_[i].next,
        threads_[i].blocked ? ", blocked," : "",
        action->kind == Action::Kind::kWait ? " waiting for item " : " item ",
        action->item, ";");
  }
  std::vector<int> items;
  for (const auto& [key, item] : in_flight_) items.push_back(item);
  std::sort(items.begin(), items.end());
  absl::StrAppend(&text, " in flight:");
  for (const int item : items) absl::StrAppend(&text, " ", item);
  return text;
}

}  // namespace hvd::simulation
