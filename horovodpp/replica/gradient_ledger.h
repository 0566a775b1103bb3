// SPDX-License-Identifier: Apache-2.0
// A GradientLedger is what a reducer knows of the gradients of one step: how many
// contributions each has had, which were added, and whether a group is complete. It
// sends nothing.
//
// Not thread-safe: its reducer has a lock. Records stay where they are.
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

// What there is to know of one gradient in one step.
struct GradientRecord {
  explicit GradientRecord(std::string its_key) : key(std::move(its_key)) {}

  const std::string key;
  int expected = 1;  // Contributions.
  int came = 0;      // Of them.
  bool is_added = false;
  std::optional<TensorView> gradient = {};  // Of a group, or held back.
  std::shared_ptr<const void> owner = nullptr;
  Sent sent = {};
  std::optional<std::size_t> group = std::nullopt;
  std::optional<GradientCall> call = std::nullopt;  // Sent by itself before.

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
  // `options` outlive it.
  //   hvd::Error (InvalidArgument)  a key is in two groups
  explicit GradientLedger(const ReducerOptions& options);

  // Of this key, from now on.
  GradientRecord& record(const std::string& key);
  // Null: of this key nothing was heard.
  const GradientRecord* find(const std::string& key) const;

  // Counts one; whether it was the last.
  //   hvd::Error (FailedPrecondition)  it is one too many; says of how many
  static bool contribute(GradientRecord& record);

  //   hvd::Error (AlreadyExists)  it was added
  static void check_not_added(const GradientRecord& record);
  // The group that it waits for, or has completed; null: it goes by itself.
  GradientGroup* add(GradientRecord& record);
  // For good.
  void leave_group(GradientRecord& record);

  // Holds back what was added, and goes by itself. How many bytes are held by now.
  std::size_t hold(GradientRecord& record, const TensorView& gradient);
  bool holds_any() const { return !held_.empty(); }
  // Lets go of what is held, in the order of adding.
  std::vector<GradientRecord*> release();

  std::vector<GradientGroup>& groups() { return groups_; }
  bool is_pending() const { return !added_.empty(); }

  // What was added so far, in that order; of `sent_only` what has been sent. Other
  // contributions that came are forgotten.
  std::vector<GradientRecord*> take(bool sent_only);
  // These are owed again. Their owners.
  std::vector<std::shared_ptr<const void>> renew(
      const std::vector<GradientRecord*>& records);

 private:
  void add_group(const std::vector<std::string>& keys,
                 const ScatteredGroup* scattered);

  std::deque<GradientRecord> records_;
  absl::flat_hash_map<std::string_view, GradientRecord*> by_key_;
  std::vector<GradientGroup> groups_;
  std::vector<GradientRecord*> added_;  // In that order.
  std::vector<GradientRecord*> held_;   // Of these; likewise.
  std::size_t held_bytes_ = 0;
};

}  // namespace hvd::replica
