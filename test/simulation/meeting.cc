// SPDX-License-Identifier: Apache-2.0
#include "test/simulation/meeting.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hvd::simulation {
namespace {

using coordinator::Batch;
using coordinator::Request;
using coordinator::RequestKind;

bool contains(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

bool moves_no_data(RequestKind kind) {
  return kind == RequestKind::kJoin || coordinator::describe(kind).changes_sets;
}

bool may_be_fused(const Request& a, const Request& b) {
  return a.kind == RequestKind::kAllreduce && b.kind == a.kind &&
         a.op == b.op && a.prescale == b.prescale &&
         a.postscale == b.postscale &&
         a.tensors.front().dtype == b.tensors.front().dtype;
}

// Checks a batch alone; returns its fault.
std::optional<std::string> find_nonsense(const Batch& batch) {
  const Request& first = batch.request();
  for (const Batch::Entry& entry : batch.entries) {
    if (entry.agreed->key.process_set != first.key.process_set) {
      return "is of two process sets";
    }
    if (batch.entries.size() > 1 && !may_be_fused(first, *entry.agreed)) {
      return "fuses what does not go together";
    }
  }
  return std::nullopt;
}

// A join's entry holds the rank's own request.
bool same_entries(const Batch& a, const Batch& b) {
  return a.entries.size() == b.entries.size() &&
         std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(),
                    [](const Batch::Entry& left, const Batch::Entry& right) {
                      return *left.agreed == *right.agreed;
                    });
}

}  // namespace

std::optional<std::string> Meeting::enter(int rank, const Batch& batch,
                                          const std::vector<int>& members) {
  entered_.push_back(rank);
  if (auto nonsense = find_nonsense(batch)) return nonsense;
  if (!contains(members, rank)) return "has a rank that is no member";
  if (members != members_) return "has other members on another rank";
  if (!same_entries(batch, batch_)) return "has other contents on another rank";
  if (batch.participants != batch_.participants ||
      batch.result != batch_.result || batch.certain != batch_.certain) {
    return "has other numbers on another rank";
  }
  if (abandoned_ > 0 && all_entered()) return "was abandoned without need";
  contributing_.resize(batch.entries.size());
  for (std::size_t i = 0; i < batch.entries.size(); ++i) {
    if (batch.entries[i].submitted_here) ++contributing_[i];
    if (all_entered() && contributing_[i] != batch.participants) {
      return absl::StrCat("has ", contributing_[i], " participants, and says ",
                          batch.participants);
    }
  }
  return std::nullopt;
}

bool Meeting::is_over_for(int rank, bool strictly) const {
  const Request& request = batch_.request();
  if (all_entered()) return true;
  if (strictly) return false;
  if (moves_no_data(request.kind)) return true;
  return request.kind == RequestKind::kBroadcast &&
         (rank == request.root || contains(entered_, request.root));
}

std::optional<std::string> Meeting::finish(int) {
  ++finished_;
  if (abandoned_ > 0) return "is finished, and another rank abandoned it";
  return std::nullopt;
}

std::optional<std::string> Meeting::abandon(int) {
  ++abandoned_;
  if (all_entered()) return "is abandoned though all have entered it";
  if (finished_ > 0) return "is abandoned, and another rank finished it";
  if (batch_.certain) return "is certain, and abandoned";
  return std::nullopt;
}

std::optional<std::string> Meeting::check_end() const {
  const std::size_t gone = static_cast<std::size_t>(finished_ + abandoned_);
  if (gone != entered_.size()) return "is left by only some of its ranks";
  if (abandoned_ == 0 && !all_entered()) return "was entered only by some";
  return std::nullopt;
}

std::string Meeting::describe() const {
  const auto name = [](std::string* out, const Batch::Entry& entry) {
    absl::StrAppend(out, name_of(entry.agreed->kind), " ",
                    entry.agreed->key.to_string());
  };
  return absl::StrCat("batch ", batch_.epoch, ".", batch_.sequence, " (",
                      absl::StrJoin(batch_.entries, ", ", name), ") of [",
                      absl::StrJoin(members_, ","), "], entered by [",
                      absl::StrJoin(entered_, ","), "]");
}

}  // namespace hvd::simulation
