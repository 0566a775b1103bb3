// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/gradient_ledger.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::replica {

GradientLedger::GradientLedger(const ReducerOptions& options) {
  for (const std::vector<std::string>& keys : options.groups) {
    if (!keys.empty()) add_group(keys, nullptr);
  }
  for (const ScatteredGroup& scattered : options.scattered) {
    if (!scattered.keys.empty()) add_group(scattered.keys, &scattered);
  }
}

void GradientLedger::add_group(const std::vector<std::string>& keys,
                               const ScatteredGroup* scattered) {
  GradientGroup& group = groups_.emplace_back();
  group.scattered = scattered;
  for (const std::string& key : keys) {
    GradientRecord& member = record(key);
    if (member.group.has_value()) {
      throw Error(absl::InvalidArgumentError(
          absl::StrCat("A parameter can only appear once in groups. '", key,
                       "' appears twice")));
    }
    member.group = groups_.size() - 1;
    group.members.push_back(&member);
  }
}

GradientRecord& GradientLedger::record(const std::string& key) {
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) return *found->second;
  GradientRecord& made = records_.emplace_back(key);
  by_key_.emplace(made.key, &made);
  return made;
}

const GradientRecord* GradientLedger::find(const std::string& key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second;
}

bool GradientLedger::contribute(GradientRecord& record) {
  if (record.owed() <= 0) {
    throw Error(absl::FailedPreconditionError(absl::StrCat(
        "the gradient of '", record.key, "' has had ", record.came,
        " contributions in this step", record.is_added ? ", was added" : "",
        " and gets one more, where ", record.expected,
        " were expected; finish() the step first, or expect() more")));
  }
  ++record.came;
  return record.owed() == 0;
}

void GradientLedger::check_not_added(const GradientRecord& record) {
  if (!record.is_added) return;
  throw Error(absl::AlreadyExistsError(absl::StrCat(
      "the gradient of '", record.key,
      "' was handed over twice in one step; finish() the step first")));
}

GradientGroup* GradientLedger::add(GradientRecord& record) {
  check_not_added(record);
  record.is_added = true;
  added_.push_back(&record);
  if (!record.group.has_value()) return nullptr;
  GradientGroup& group = groups_[*record.group];
  if (group.is_sent) return nullptr;
  ++group.added;
  return &group;
}

std::size_t GradientLedger::hold(GradientRecord& record,
                                 const TensorView& gradient) {
  record.gradient = gradient;
  held_.push_back(&record);
  return held_bytes_ += gradient.bytes();
}

std::vector<GradientRecord*> GradientLedger::release() {
  held_bytes_ = 0;
  return std::exchange(held_, {});
}

void GradientLedger::leave_group(GradientRecord& record) {
  if (!record.group.has_value()) return;
  std::vector<GradientRecord*>& members = groups_[*record.group].members;
  members.erase(std::find(members.begin(), members.end(), &record));
  record.group = std::nullopt;
}

std::vector<GradientRecord*> GradientLedger::take(bool sent_only) {
  std::vector<GradientRecord*> taken;
  std::vector<GradientRecord*> later;
  for (GradientRecord* const record : added_) {
    const bool stays = sent_only && record->sent.is_nothing();
    (stays ? later : taken).push_back(record);
  }
  added_ = std::move(later);
  if (!sent_only) release();
  for (GradientRecord& record : records_) {
    if (!record.is_added) record.came = 0;
  }
  return taken;
}

std::vector<std::shared_ptr<const void>> GradientLedger::renew(
    const std::vector<GradientRecord*>& records) {
  std::vector<std::shared_ptr<const void>> owners;
  owners.reserve(records.size());
  for (GradientRecord* const record : records) {
    owners.push_back(std::move(record->owner));
    if (record->group.has_value()) {
      GradientGroup& group = groups_[*record->group];
      group.added = 0;
      group.is_sent = false;
    }
    record->came = 0;
    record->is_added = false;
    record->gradient.reset();
    record->sent = Sent();
  }
  return owners;
}

}  // namespace hvd::replica
