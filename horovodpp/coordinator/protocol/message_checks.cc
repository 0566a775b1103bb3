// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/protocol/message_checks.h"

#include <algorithm>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "horovodpp/coordinator/protocol/node_board.h"
#include "horovodpp/core/job/ranks.h"
#include "horovodpp/core/status.h"

namespace hvd::coordinator {
namespace {

// The last of the codes that gRPC and Abseil define; 0 is success.
constexpr std::uint32_t kLastStatusCode = 16;

absl::Status refuse(const std::string& what) {
  return absl::InvalidArgumentError("a message names " + what);
}

struct Check {
  const JobBounds& job;

  bool has(std::int64_t rank) const { return rank >= 0 && rank < job.ranks; }
  absl::Status rank(std::int64_t rank) const {
    if (has(rank)) return absl::OkStatus();
    return refuse(
        absl::StrCat("rank ", rank, " of a job of ", job.ranks, " ranks"));
  }
  // Checks a number of participating ranks.
  absl::Status count(std::int64_t count) const {
    if (count >= 1 && count <= job.ranks) return absl::OkStatus();
    return refuse(
        absl::StrCat(count, " ranks of a job of ", job.ranks, " ranks"));
  }

  template <typename M>
  absl::Status operator()(const M&) const {
    return absl::OkStatus();
  }

  absl::Status operator()(const Propose& message) const {
    if (message.request->kind == RequestKind::kJoin) {
      return refuse("a join, which is not proposed");
    }
    HVD_RETURN_IF_ERROR(agreed_on(*message.request));
    if (message.other) HVD_RETURN_IF_ERROR(agreed_on(*message.other));
    HVD_RETURN_IF_ERROR(rank(message.rank));
    HVD_RETURN_IF_ERROR(rank(message.other_rank));
    return count(message.count);
  }
  absl::Status agreed_on(const Request& request) const {
    const Description& operation = describe(request.kind);
    if (operation.is_message) {
      return refuse(
          "a message between two ranks, which others do not agree on");
    }
    if (!operation.is_of_members) return absl::OkStatus();
    if (request.key.process_set == kGlobalSet && !request.ranks.empty() &&
        are_ascending_ranks(request.ranks, job.ranks)) {
      return absl::OkStatus();
    }
    return refuse("a change of process sets by impossible members");
  }
  absl::Status operator()(const Joined& message) const {
    return rank(message.last_rank);
  }
  absl::Status operator()(const Leave& message) const {
    return rank(message.rank);
  }
  absl::Status operator()(const Told& message) const {
    return rank(message.asker);
  }
  absl::Status operator()(const Stalled& message) const {
    return message.asker == -1 ? absl::OkStatus() : rank(message.asker);
  }
  absl::Status operator()(const Inspected& message) const {
    for (const int ready : message.ready) HVD_RETURN_IF_ERROR(rank(ready));
    for (const RankState& state : message.missing) {
      HVD_RETURN_IF_ERROR(rank(state.rank));
    }
    return absl::OkStatus();
  }

  absl::Status operator()(const Report& message) const {
    return rank(message.rank);
  }

  absl::Status operator()(const Define& message) const {
    if (message.slot != kNoSlot && message.slot >= job.slots) {
      return refuse(
          absl::StrCat("place ", message.slot, " on a board of ", job.slots));
    }
    HVD_RETURN_IF_ERROR(count(message.participants));
    const Request& request = *message.request;
    if (request.kind == RequestKind::kJoin) {
      return refuse("a join, which has no id");
    }
    HVD_RETURN_IF_ERROR(agreed_on(request));
    const Description& operation = describe(request.kind);
    if (operation.changes_sets) return change_of_sets(message);
    return operation.has_root() ? rank(request.root) : absl::OkStatus();
  }
  absl::Status change_of_sets(const Define& message) const {
    const Request& request = *message.request;
    if ((adds_set(request.kind) ? message.result : request.subject) ==
        kGlobalSet) {
      return refuse("the global process set, which stays as it is");
    }
    if (message.slot != kNoSlot || request.key.process_set != kGlobalSet) {
      return refuse(
          "a change of process sets that does not name all ranks, or not once");
    }
    for (const int member : request.ranks) HVD_RETURN_IF_ERROR(rank(member));
    return absl::OkStatus();
  }

  absl::Status operator()(const Reject& message) const {
    if (message.code >= 1 && message.code <= kLastStatusCode) {
      return absl::OkStatus();
    }
    return refuse(absl::StrCat("error code ", message.code));
  }

  absl::Status operator()(const Round& message) const {
    const auto& records = message.records;
    if (records.empty() || records.size() > kMaxAppend) {
      return refuse(absl::StrCat("a round of ", records.size(), " records"));
    }
    if (!records.back().ends_batch) {
      return refuse("a batch of the schedule that does not end");
    }
    bool begins = true;  // The next record begins a batch.
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (!begins && !continues(records[i - 1], records[i])) {
        return refuse("records that do not belong together");
      }
      HVD_RETURN_IF_ERROR(rank(rank_of(records[i])));
      begins = records[i].ends_batch;
    }
    return absl::OkStatus();
  }
  static bool continues(const Record& left, const Record& right) {
    if (right.kind == RecordKind::kStartCycle) {
      return left.kind == RecordKind::kCycle;
    }
    return left.kind == right.kind &&
           (left.kind == RecordKind::kRun || left.kind == RecordKind::kCycle);
  }
  // The rank that a record names, or else any valid rank.
  static std::int64_t rank_of(const Record& record) {
    if (record.kind == RecordKind::kLeave) return record.id;
    if (record.kind == RecordKind::kJoined) {
      return static_cast<std::int64_t>(record.value);
    }
    return 0;
  }
};

}  // namespace

absl::Status check_message(const Message& message, const JobBounds& job) {
  return std::visit(Check{job}, message);
}

}  // namespace hvd::coordinator
