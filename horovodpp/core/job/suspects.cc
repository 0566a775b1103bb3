// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/job/suspects.h"

#include <set>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace hvd {
namespace {

constexpr char kPayload[] = "horovodpp/suspects";
constexpr char kSilentNodePayload[] = "horovodpp/silent_node";

}  // namespace

absl::Status with_suspects(absl::Status why, const std::vector<int>& ranks) {
  if (ranks.empty()) {
    why.ErasePayload(kPayload);
  } else {
    why.SetPayload(kPayload, absl::Cord(absl::StrJoin(
                                 std::set(ranks.begin(), ranks.end()), ",")));
  }
  return why;
}

std::vector<int> suspects_of(const absl::Status& why) {
  std::vector<int> ranks;
  const auto payload = why.GetPayload(kPayload);
  if (!payload) return ranks;
  const std::string text(*payload);
  for (const absl::string_view word : absl::StrSplit(text, ',')) {
    int rank = 0;
    if (absl::SimpleAtoi(word, &rank)) ranks.push_back(rank);
  }
  return ranks;
}

absl::Status with_failure_kind(absl::Status why, FailureKind kind) {
  if (kind == FailureKind::kSilentNode) {
    why.SetPayload(kSilentNodePayload, absl::Cord());
  } else {
    why.ErasePayload(kSilentNodePayload);
  }
  return why;
}

FailureKind failure_kind_of(const absl::Status& why) {
  return why.GetPayload(kSilentNodePayload) ? FailureKind::kSilentNode
                                            : FailureKind::kOther;
}

}  // namespace hvd
