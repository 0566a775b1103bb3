// SPDX-License-Identifier: Apache-2.0
#include "test/simulation/program.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hvd::simulation {
namespace {

std::string describe_item(const Item& item) {
  std::string text =
      absl::StrCat(coordinator::name_of(item.request.kind), " ",
                   item.request.key.to_string(), " of set ", item.set, " by [",
                   absl::StrJoin(item.ranks, ","), "] ", item.request.bytes(),
                   " bytes, ", describe_outcomes(item.allowed));
  if (item.request.once) absl::StrAppend(&text, ", once");
  if (item.adds >= 0) absl::StrAppend(&text, ", adds set ", item.adds);
  if (item.removes >= 0) absl::StrAppend(&text, ", removes set ", item.removes);
  for (const auto& [rank, request] : item.instead) {
    absl::StrAppend(
        &text, ", rank ", rank, " ", coordinator::name_of(request.kind), " of ",
        request.tensors.empty() ? "nothing"
                                : request.tensors.front().to_string());
  }
  return text;
}

std::string describe_action(const Action& action) {
  switch (action.kind) {
    case Action::Kind::kSubmit:
      return absl::StrCat("+", action.item);
    case Action::Kind::kWait:
      return absl::StrCat("?", action.item);
    case Action::Kind::kMeet:
      return "|";
    case Action::Kind::kLeave:
      break;
  }
  return "leave";
}

}  // namespace

std::string describe_outcomes(unsigned outcomes) {
  std::string text;
  const auto append = [&](Outcome outcome, const char* name) {
    if ((outcomes & outcome) == 0) return;
    absl::StrAppend(&text, text.empty() ? "" : " or ", name);
  };
  append(kDone, "done");
  append(kMismatch, "mismatch");
  append(kCancelled, "cancelled");
  append(kRefused, "refused");
  append(kBroken, "broken");
  return text;
}

std::string Program::describe() const {
  std::string text = absl::StrCat("seed ", seed, ", nodes");
  for (const auto& node : nodes) {
    absl::StrAppend(&text, " [", absl::StrJoin(node, ","), "]");
  }
  absl::StrAppend(
      &text, "\ncapacity ", options.cache_capacity, ", fusion ",
      options.fusion_threshold, ", hold back ", options.hold_back.count(),
      " ns, schedule after ", options.steps_before_schedule,
      " steps, tuning by ", options.tuning_steps, " steps, ",
      sleepy ? "sleepy" : "polling", ", room for ", most_unread, "\n");
  for (std::size_t i = 0; i < sets.size(); ++i) {
    absl::StrAppend(&text, "set ", i, ": ", absl::StrJoin(sets[i], ","), "\n");
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    absl::StrAppend(&text, "item ", i, ": ", describe_item(items[i]), "\n");
  }
  for (std::size_t rank = 0; rank < threads.size(); ++rank) {
    for (std::size_t i = 0; i < threads[rank].size(); ++i) {
      absl::StrAppend(&text, "rank ", rank, " thread ", i, ":");
      for (const Action& action : threads[rank][i]) {
        absl::StrAppend(&text, " ", describe_action(action));
      }
      absl::StrAppend(&text, "\n");
    }
  }
  for (const Death& death : deaths) {
    absl::StrAppend(&text, "rank ", death.rank, " dies in turn ", death.turn,
                    death.mid_sending ? ", sending" : "", "\n");
  }
  return text;
}

}  // namespace hvd::simulation
