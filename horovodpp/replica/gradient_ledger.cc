// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/gradient_ledger.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/threads.h"

namespace hvd::replica {
namespace {

void check_expected(int contributions, const std::string& whose) {
  if (contributions >= 1) return;
  throw Error(absl::InvalidArgumentError(
      absl::StrCat(whose, " is to have ", contributions,
                   " contributions; it must have at least 1")));
}

}  // namespace

std::size_t bucket_bytes_for(int local_ranks, int ranks, int threads) {
  constexpr std::size_t kBucketBytes = std::size_t{16} << 20;
  const bool hides_nothing =
      local_ranks == ranks && !have_spare_cores(local_ranks, threads);
  return hides_nothing ? kBucketBytes : 0;
}

std::size_t GradientLedger::enter(std::string name) {
  records_.push_back({.name = std::move(name), .expected = expected_});
  return records_.size() - 1;
}

void GradientLedger::expect(std::size_t i, int contributions) {
  check_expected(contributions,
                 absl::StrCat("the gradient of '", records_[i].name, "'"));
  records_[i].expected = contributions;
}

void GradientLedger::expect_of_all(int contributions) {
  check_expected(contributions, "each gradient");
  expected_ = contributions;
  for (Record& record : records_) record.expected = contributions;
}

std::size_t GradientLedger::add_group(const std::vector<std::size_t>& members) {
  const std::size_t number = groups_.size();
  Group& group = groups_.emplace_back();
  for (const std::size_t i : members) {
    Record& record = records_[i];
    if (record.group.has_value()) {
      throw Error(absl::InvalidArgumentError(
          absl::StrCat("A parameter can only appear once in groups. '",
                       record.name, "' appears twice")));
    }
    record.group = number;
    group.members.push_back(i);
    if (record.is_in_group) ++group.awaited;
  }
  return number;
}

void GradientLedger::set_in_group(std::size_t i, bool is_in_group) {
  Record& record = records_[i];
  if (record.is_in_group == is_in_group) return;
  record.is_in_group = is_in_group;
  if (!record.group.has_value()) return;
  std::size_t& awaited = groups_[*record.group].awaited;
  awaited = is_in_group ? awaited + 1 : awaited - 1;
}

int GradientLedger::owed(std::size_t i) const {
  const Record& record = records_[i];
  if (record.state != State::kOpen) return 0;
  return record.expected * record.parts - record.came;
}

ContributionState GradientLedger::count(std::size_t i) {
  Record& record = records_[i];
  ++record.came;
  switch (record.state) {
    case State::kSent:
      return ContributionState::kLate;
    case State::kHeld:
      return ContributionState::kHeld;
    case State::kOpen:
      if (record.came < record.expected * record.parts)
        return ContributionState::kMore;
      return ContributionState::kComplete;
    default:
      return ContributionState::kMore;
  }
}

bool GradientLedger::contribute(std::size_t i) {
  Record& record = records_[i];
  const int needed = record.expected * record.parts;
  if (record.state != State::kOpen || record.came >= needed) {
    throw Error(absl::FailedPreconditionError(absl::StrCat(
        "the gradient of '", record.name, "' has had ", record.came,
        " contributions in this step", is_added(i) ? ", was added" : "",
        " and gets one more, where ", record.expected,
        " were expected; finish() the step first, or expect() more")));
  }
  return ++record.came == needed;
}

void GradientLedger::forget_contributions() {
  for (Record& record : records_) record.came = 0;
}

bool GradientLedger::expect_late_part(std::size_t i) {
  Record& record = records_[i];
  record.is_late = record.state == State::kSent;
  return record.is_late;
}

void GradientLedger::learn_parts() {
  for (Record& record : records_) {
    if (record.came == 0 || (!record.is_late && record.parts == 1)) continue;
    record.parts = (record.came + record.expected - 1) / record.expected;
  }
}

Due GradientLedger::complete(std::size_t i, std::optional<std::size_t> bytes,
                             bool is_nested) {
  Record& record = records_[i];
  add(i);
  record.is_nested = is_nested;
  record.state = State::kComplete;
  if (record.group.has_value() && record.is_in_group &&
      !groups_[*record.group].is_taken) {
    Group& group = groups_[*record.group];
    record.state = State::kGrouped;
    group.is_nested = is_nested;
    ++group.complete;
    return group.complete == group.awaited ? Due::kGroup : Due::kNothing;
  }
  if (bucket_bytes_ == 0 || !bytes.has_value()) return Due::kItself;
  record.state = State::kHeld;
  held_.push_back(i);
  held_bytes_ += *bytes;
  return held_bytes_ >= bucket_bytes_ ? Due::kBucket : Due::kHeld;
}

std::vector<std::size_t> GradientLedger::take_group(std::size_t group) {
  Group& taken = groups_[group];
  taken.is_taken = true;
  std::vector<std::size_t> complete;
  for (const std::size_t i : taken.members) {
    if (records_[i].state != State::kGrouped) continue;
    records_[i].is_nested = taken.is_nested;
    complete.push_back(i);
  }
  return complete;
}

std::vector<std::size_t> GradientLedger::waiting_groups() const {
  std::vector<std::size_t> waiting;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i].complete > 0 && !groups_[i].is_taken) waiting.push_back(i);
  }
  return waiting;
}

std::vector<std::size_t> GradientLedger::release() {
  for (const std::size_t i : held_) records_[i].state = State::kComplete;
  held_bytes_ = 0;
  return std::exchange(held_, {});
}

std::vector<std::uint8_t> GradientLedger::facts(
    const std::vector<std::size_t>& gradients,
    const std::vector<std::uint8_t>& exist) const {
  std::vector<bool> is_listed(records_.size());
  for (const std::size_t i : gradients) is_listed[i] = true;
  const bool all_held =
      bucket_bytes_ > 0 && groups_.empty() &&
      std::all_of(added_.begin(), added_.end(), [&](std::size_t i) {
        return records_[i].state == State::kHeld && is_listed[i];
      });
  std::vector<std::uint8_t> facts = {all_held ? std::uint8_t{0}
                                              : std::uint8_t{1}};
  for (const std::size_t i : gradients) facts.push_back(records_[i].is_late);
  facts.insert(facts.end(), exist.begin(), exist.end());
  return facts;
}

GradientLedger::Agreement GradientLedger::agree(
    const std::vector<std::size_t>& gradients,
    const std::vector<std::uint8_t>& facts) {
  Agreement agreement = {.all_held = facts.front() == 0};
  const auto* const is_late = facts.data() + 1;
  const auto* const exists = is_late + gradients.size();
  const bool finds_unused = facts.size() > 1 + gradients.size();
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (is_late[i] != 0) agreement.late.push_back(gradients[i]);
    records_[gradients[i]].is_unused = finds_unused && exists[i] == 0;
  }
  return agreement;
}

std::vector<std::size_t> GradientLedger::rest(
    const std::vector<std::size_t>& gradients) const {
  std::vector<std::size_t> rest;
  for (const std::size_t i : gradients) {
    const Record& record = records_[i];
    if (record.state >= State::kHeld || waits_in_group(record)) continue;
    if (!record.is_unused) rest.push_back(i);
  }
  return rest;
}

std::vector<std::size_t> GradientLedger::take(bool sent_only) {
  std::vector<std::size_t> taken;
  std::vector<std::size_t> later;
  for (const std::size_t i : added_) {
    const bool stays = sent_only && records_[i].state != State::kSent;
    (stays ? later : taken).push_back(i);
  }
  added_ = std::move(later);
  if (!sent_only) release();
  for (Record& record : records_) {
    if (record.state == State::kOpen) record.came = 0;
    record.is_unused = false;
  }
  return taken;
}

void GradientLedger::renew(std::size_t i) {
  Record& record = records_[i];
  if (record.group.has_value()) {
    groups_[*record.group].complete = 0;
    groups_[*record.group].is_taken = false;
  }
  record.came = 0;
  record.state = State::kOpen;
  record.is_late = false;
}

}  // namespace hvd::replica
