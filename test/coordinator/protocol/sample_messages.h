// SPDX-License-Identifier: Apache-2.0
// One message of every type, with a value in every field.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/coordinator/protocol/message.h"

namespace hvd::coordinator {

inline Request sample_allreduce(const std::string& name = "layer.0.weight") {
  Request request;
  request.key.name = name;
  request.tensors = {{DType::kF32, Shape({3, 4, 5})}};
  return request;
}

inline Request sample_group() {
  Request request = sample_allreduce("grads");
  request.key.process_set = 2;
  request.tensors = {{DType::kBF16, Shape({7})},
                     {DType::kBF16, Shape()},
                     {DType::kI64, Shape({0, 3})}};
  request.device = Device::cuda(3);
  request.op = ReduceOp::kProduct;
  request.prescale = 0.1;
  request.postscale = -2;
  request.average_of_participants = true;
  request.captured = true;
  return request;
}

inline Request sample_broadcast() {
  Request request = sample_allreduce("state");
  request.kind = RequestKind::kBroadcast;
  request.root = 1;
  request.once = true;
  return request;
}

inline Request sample_add_process_set() {
  Request request;
  request.kind = RequestKind::kAddProcessSet;
  request.key.name = "add_process_set.noname.1";
  request.ranks = {0, 2};
  request.once = true;
  return request;
}

inline Request sample_remove_process_set() {
  Request request;
  request.kind = RequestKind::kRemoveProcessSet;
  request.key.name = "remove_process_set.noname.1";
  request.subject = 1;
  request.once = true;
  return request;
}

inline Request sample_new_process_set() {
  Request request;
  request.kind = RequestKind::kNewProcessSet;
  request.key.name = "new_process_set x of [0,2]";
  request.ranks = {0, 2};
  request.once = true;
  return request;
}

inline std::vector<Request> sample_requests() {
  return {sample_allreduce(),          sample_group(),
          sample_broadcast(),          sample_add_process_set(),
          sample_remove_process_set(), sample_new_process_set()};
}

inline RequestPtr shared(Request request) {
  return std::make_shared<const Request>(std::move(request));
}

inline std::vector<Message> sample_messages() {
  return {
      Propose{.rank = 1, .request = shared(sample_allreduce())},
      Propose{.rank = 0,
              .request = shared(sample_group()),
              .other_rank = 2,
              .other = shared(sample_allreduce("grads")),
              .count = 3,
              .root_is_here = true},
      Propose{.rank = 1, .request = shared(sample_add_process_set())},
      Propose{.rank = 2, .request = shared(sample_new_process_set())},
      Outdated{4},
      Ready{{1, 2, 3}},
      Ready{},
      Passed{{9, 0xfffffffeu}},
      Join{2},
      Joined{2, 1},
      Leave{1},
      AllLeft{},
      Stop{3},
      Halted{3, 1234567890123},
      Stalled{{2, "grads"}, 61000, true},
      Stalled{.key = {0, "set"},
              .waited_ms = 500,
              .ranks = {0, 2},
              .asker = 2,
              .question = 7},
      Report{1, std::string("\0step", 5)},
      Measured{.number = 2,
               .cycle = 0x0123456789abcdefu,
               .step = 100000,
               .spread = 300,
               .arrivals = {1, 2000, 0xffffffffu},
               .ends = {5000, 100000}},
      Inspected{.query = 5,
                .ready_count = 2,
                .missing_count = 2,
                .most_submissions = 610,
                .ready = {0, 2},
                .missing = {{.rank = 1,
                             .has_submitted = true,
                             .has_joined = true,
                             .has_left = true,
                             .submissions = 549,
                             .last_name = "loss",
                             .last_ms_ago = 1700},
                            {.rank = 2,
                             .answers = false,
                             .silence_cause = "it is stopped"}}},
      Define{.id = 4,
             .slot = 2,
             .participants = 3,
             .request = shared(sample_allreduce())},
      Define{.id = 5,
             .slot = kNoSlot,
             .participants = 3,
             .result = 1,
             .request = shared(sample_add_process_set())},
      Reject{.number = 6, .key = {0, "x"}, .code = 3, .why = "because"},
      Round{{{.kind = RecordKind::kRun, .id = 1, .ends_batch = false},
             {.kind = RecordKind::kRun, .id = 2},
             {.kind = RecordKind::kRetire, .id = 2},
             {.kind = RecordKind::kReject, .id = 6}}},
      Round{{{.kind = RecordKind::kLeave, .id = 1},
             {.kind = RecordKind::kJoin, .id = 2},
             {.kind = RecordKind::kJoined, .id = 2, .value = 1},
             {.kind = RecordKind::kEndCycle, .value = 17}}},
      Round{{{.kind = RecordKind::kCycle, .id = 1, .ends_batch = false},
             {.kind = RecordKind::kCycle,
              .id = 2,
              .value = 1,
              .ends_batch = false},
             {.kind = RecordKind::kStartCycle, .id = 1, .value = 0xabcdefu}}},
      Halt{3},
      Inspect{5, {0, "layer.0.weight"}},
      Inspect{6, {0, "set"}, {0, 2}},
      Told{.asker = 2, .question = 7, .text = "rank 0 is missing"},
      Closed{},
      Beat{},
      Break{"rank 2 (host 'a', pid 4711) is gone",
            {2, 3},
            FailureKind::kSilentNode}};
}

}  // namespace hvd::coordinator
