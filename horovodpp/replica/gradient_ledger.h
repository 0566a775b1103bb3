// SPDX-License-Identifier: Apache-2.0
// A GradientLedger records the gradients of a reducer's step: the number of
// contributions of each, the added ones, and complete groups. It sends nothing.
//
// Not thread-safe: its reducer has a lock. Records never move.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/replica/gradient_call.h"
#include "horovodpp/replica/reducer_options.h"
#include "horovodpp/replica/sent.h"

namespace hvd::replica {

// The state of one gradient in one step.
struct GradientRecord {
  explicit GradientRecord(std::string its_key) : key(std::move(its_key)) {}

  const std::string key;
  int expected = 1;  // Contributions per step.
  int came = 0;      // Contributions so far.
  bool is_added = false;
  std::optional<TensorView> gradient = {};  // Waits for its group or bucket.
  std::shared_ptr<const void> owner = nullptr;
  Sent sent = {};
  std::optional<std::size_t> group = std::nullopt;
  // Set if it was sent alone before.
  std::optional<GradientCall> call = std::nullopt;

  int owed() const { return is_added ? 0 : expected - came; }
};

struct GradientGroup {
  std::vector<GradientRecord*> members;
  const ScatteredGroup* scattered = nullptr;  // Or null.
  std::size_t added = 0;
  bool is_sent = false;

  bool is_complete() const { return added == members.size(); }
};

class GradientLedger {
 public:
  // `options` outlive this object.
  //   hvd::Error (InvalidArgument)  a key is in two groups
  explicit GradientLedger(const ReducerOptions& options);

  // The record of this key, created if there is none.
  GradientRecord& record(const std::string& key);
  // Null: the key is unknown.
  const GradientRecord* find(const std::string& key) const;

  // Counts a contribution; returns whether it was the last.
  //   hvd::Error (FailedPrecondition)  one contribution too many; says of how many
  static bool contribute(GradientRecord& record);

  //   hvd::Error (AlreadyExists)  it was added before
  static void check_not_added(const GradientRecord& record);
  // The group that the record waits for or completes; null: it is sent alone.
  GradientGroup* add(GradientRecord& record);
  // Permanently.
  void leave_group(GradientRecord& record);

  // Holds back an added gradient that has no group. Returns the total size of
  // the held gradients.
  std::size_t hold(GradientRecord& record, const TensorView& gradient);
  bool holds_any() const { return !held_.empty(); }
  // Releases the held gradients, in the order of adding.
  std::vector<GradientRecord*> release();

  std::vector<GradientGroup>& groups() { return groups_; }
  bool is_pending() const { return !added_.empty(); }

  // Takes the added gradients, in order; with `sent_only` those that have been
  // sent. Forgets other contributions.
  std::vector<GradientRecord*> take(bool sent_only);
  // Makes these owed again, and returns their owners.
  std::vector<std::shared_ptr<const void>> renew(
      const std::vector<GradientRecord*>& records);

 private:
  void add_group(const std::vector<std::string>& keys,
                 const ScatteredGroup* scattered);

  std::deque<GradientRecord> records_;
  absl::flat_hash_map<std::string_view, GradientRecord*> by_key_;
  std::vector<GradientGroup> groups_;
  std::vector<GradientRecord*> added_;  // In the order of adding.
  std::vector<GradientRecord*> held_;   // Likewise.
  std::size_t held_bytes_ = 0;
};

}  // namespace hvd::replica
