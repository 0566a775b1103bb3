// SPDX-License-Identifier: Apache-2.0
// A RequestKind is an operation of ranks. The coordinator and the runtime read
// its description, one row of kDescriptions. The row has its name, the values
// that may differ between ranks, the way its data moves, and the part of joined
// ranks. A new collective is a new row. Ranks agree on each operation, except
// on messages between two of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

namespace hvd::coordinator {

// Numbers below 16 are Horovod's. The numbers travel between ranks.
enum class RequestKind : std::uint8_t {
  kAllreduce = 0,
  kAllgather = 1,
  kBroadcast = 2,
  kJoin = 3,
  kAlltoall = 5,
  kBarrier = 6,
  kReducescatter = 7,
  kAddProcessSet = 16,
  kRemoveProcessSet = 17,
  kReplay = 18,
  kReduce = 19,
  kGather = 20,
  kScatter = 21,
  kSend = 22,
  kReceive = 23,
  kNewProcessSet = 24,
  kFreeProcessSet = 25,
};

// The call of a plane by which an operation moves its tensors.
enum class Transfer : std::uint8_t {
  kNothing,
  kAllreduce,
  kReducescatter,
  kAllgather,
  kBroadcast,
  kAlltoall,
  kReplay,  // Launches a captured graph.
};

// The rows of the tensors, and of the results. If a root receives, the others
// get nothing; if a root sends, the tensors of the others give the shape of a
// row.
enum class Rows : std::uint8_t {
  kNone,      // No tensors.
  kWhole,     // Tensors are equal in shape, and each rank gets a whole one.
  kEven,      // Equal in shape; each rank gets its share of the rows.
  kGathered,  // Numbers of rows differ; each rank gets the rows of all.
  kSplit,     // Numbers of rows differ; each rank sends rows to each.
};

// A rank of the job that every rank names.
enum class Root : std::uint8_t { kNone, kSends, kReceives };

// The part of the ranks that have joined, while others go on.
enum class IfJoined : std::uint8_t {
  kNeutral,  // They contribute the neutral value, if there is one.
  kNoRows,   // They contribute no rows.
  kReceive,  // They receive, into memory that is dropped.
  kRefused,  // The operation needs every rank.
  kIdle,     // They are not asked for anything.
};

struct Description {
  RequestKind kind;
  const char* name;  // For messages, and for the names of unnamed calls.
  Transfer transfer = Transfer::kNothing;
  Rows rows = Rows::kNone;
  IfJoined joined = IfJoined::kIdle;
  Root root = Root::kNone;  // It must not have joined.
  // No rank completes it before all have begun. So all ranks can abandon a
  // batch that one rank never enters.
  bool can_be_abandoned = false;
  bool changes_sets = false;
  // The members of the process set (Request::ranks) agree on it, not all ranks
  // of the set that its key names.
  bool is_of_members = false;
  // Two ranks settle it between them (runtime/messages).
  bool is_message = false;

  constexpr bool has_root() const { return root != Root::kNone; }
  constexpr bool reduces() const {
    return transfer == Transfer::kAllreduce ||
           transfer == Transfer::kReducescatter;
  }
  // The first dimension of the tensors may differ between ranks and calls.
  constexpr bool rows_differ() const {
    return rows == Rows::kGathered || rows == Rows::kSplit;
  }
  // Tensors need a first dimension.
  constexpr bool needs_rows() const {
    return rows_differ() || rows == Rows::kEven;
  }
  // Horovod refuses it while a rank has joined.
  constexpr bool needs_every_rank_in_horovod() const {
    return rows != Rows::kNone && transfer != Transfer::kAllreduce;
  }
};

inline constexpr Description kDescriptions[] = {
    {.kind = RequestKind::kAllreduce,
     .name = "allreduce",
     .transfer = Transfer::kAllreduce,
     .rows = Rows::kWhole,
     .joined = IfJoined::kNeutral,
     .can_be_abandoned = true},
    {.kind = RequestKind::kAllgather,
     .name = "allgather",
     .transfer = Transfer::kAllgather,
     .rows = Rows::kGathered,
     .joined = IfJoined::kNoRows,
     .can_be_abandoned = true},
    {.kind = RequestKind::kBroadcast,
     .name = "broadcast",
     .transfer = Transfer::kBroadcast,
     .rows = Rows::kWhole,
     .joined = IfJoined::kReceive,
     .root = Root::kSends},
    {.kind = RequestKind::kJoin, .name = "join"},
    {.kind = RequestKind::kAlltoall,
     .name = "alltoall",
     .transfer = Transfer::kAlltoall,
     .rows = Rows::kSplit,
     .joined = IfJoined::kRefused},
    {.kind = RequestKind::kBarrier,
     .name = "barrier",
     .can_be_abandoned = true},
    {.kind = RequestKind::kReducescatter,
     .name = "reducescatter",
     .transfer = Transfer::kReducescatter,
     .rows = Rows::kEven,
     .joined = IfJoined::kNeutral,
     .can_be_abandoned = true},
    {.kind = RequestKind::kAddProcessSet,
     .name = "add_process_set",
     .joined = IfJoined::kRefused,
     .changes_sets = true},
    {.kind = RequestKind::kRemoveProcessSet,
     .name = "remove_process_set",
     .joined = IfJoined::kRefused,
     .changes_sets = true},
    {.kind = RequestKind::kReplay,
     .name = "replay",
     .transfer = Transfer::kReplay,
     .joined = IfJoined::kRefused,
     .can_be_abandoned = true},
    {.kind = RequestKind::kReduce,
     .name = "reduce",
     .transfer = Transfer::kReducescatter,
     .rows = Rows::kWhole,
     .joined = IfJoined::kNeutral,
     .root = Root::kReceives,
     .can_be_abandoned = true},
    {.kind = RequestKind::kGather,
     .name = "gather",
     .transfer = Transfer::kAlltoall,
     .rows = Rows::kGathered,
     .joined = IfJoined::kNoRows,
     .root = Root::kReceives},
    {.kind = RequestKind::kScatter,
     .name = "scatter",
     .transfer = Transfer::kAlltoall,
     .rows = Rows::kSplit,
     .joined = IfJoined::kReceive,
     .root = Root::kSends},
    {.kind = RequestKind::kSend, .name = "send", .is_message = true},
    {.kind = RequestKind::kReceive, .name = "receive", .is_message = true},
    {.kind = RequestKind::kNewProcessSet,
     .name = "new_process_set",
     .joined = IfJoined::kRefused,
     .changes_sets = true,
     .is_of_members = true},
    {.kind = RequestKind::kFreeProcessSet,
     .name = "free_process_set",
     .joined = IfJoined::kRefused,
     .changes_sets = true,
     .is_of_members = true},
};

inline constexpr auto kAllRequestKinds = [] {
  std::array<RequestKind, std::size(kDescriptions)> kinds = {};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    kinds[i] = kDescriptions[i].kind;
  }
  return kinds;
}();

// The description of the operation with this number on the wire; nullptr: there
// is none.
constexpr const Description* find_description(std::uint8_t number) {
  for (const Description& description : kDescriptions) {
    if (static_cast<std::uint8_t>(description.kind) == number) {
      return &description;
    }
  }
  return nullptr;
}

// `kind` is one of the enumerators.
constexpr const Description& describe(RequestKind kind) {
  return *find_description(static_cast<std::uint8_t>(kind));
}

constexpr bool adds_set(RequestKind kind) {
  return kind == RequestKind::kAddProcessSet ||
         kind == RequestKind::kNewProcessSet;
}
constexpr bool removes_set(RequestKind kind) {
  return kind == RequestKind::kRemoveProcessSet ||
         kind == RequestKind::kFreeProcessSet;
}

// "allreduce", "allgather", …
inline std::string name_of(RequestKind kind) { return describe(kind).name; }

}  // namespace hvd::coordinator
