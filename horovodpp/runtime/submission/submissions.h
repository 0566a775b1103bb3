// SPDX-License-Identifier: Apache-2.0
// Makes Submissions from callers' requests. Invalid requests are refused before
// anything is queued: a group with one bad tensor is refused as a whole.
//
// All functions return InvalidArgument if an argument is invalid or this rank
// is not in the process set. They return Unimplemented if no plane of this
// build reaches the memory. Texts name the operation, the tensor and, in a
// group, its index.
//
// The submissions are admitted to their process set, which numbers those
// without a name. The caller adds callbacks, and outputs where none are named.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/coordinator/protocol/submission.h"
#include "horovodpp/core/reduce_op.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/runtime/execution/set_table.h"
#include "horovodpp/runtime/settings/options.h"
#include "horovodpp/runtime/settings/process_set.h"

namespace hvd::runtime {

using coordinator::Inputs;
using coordinator::SubmissionPtr;

// The options of any collective in one form; defaults for those that it lacks.
struct Terms {
  template <typename Options>
  requires requires(Options options) { options.process_set; }
  Terms(Options options)  // Converts.
      : name(std::move(options.name)),
        process_set(std::move(options.process_set)),
        keep_alive(std::move(options.keep_alive)),
        stream(options.stream) {
    if constexpr (requires { options.op; }) {
      op = options.op;
      prescale = options.prescale_factor;
      postscale = options.postscale_factor;
      average_of_participants = options.average_of_participants;
    }
    if constexpr (requires { options.splits; }) {
      splits = std::move(options.splits);
    }
  }

  std::string name;
  ProcessSet process_set;
  std::shared_ptr<const void> keep_alive;
  void* stream;
  ReduceOp op = ReduceOp::kAverage;
  double prescale = 1.0;
  double postscale = 1.0;
  bool average_of_participants = false;
  std::vector<std::int64_t> splits = {};
};

// A collective of `kind`; a group if there are several inputs. `root` is a rank
// of the job, for kinds that have one. Splits that are not given are filled in.
absl::StatusOr<SubmissionPtr> submission(SetTable& sets,
                                         coordinator::RequestKind kind,
                                         Inputs inputs, Terms terms,
                                         int root = 0);

// The same with one input, and the caller's memory for the result.
//   InvalidArgument  `result` does not have the result's shape. If the number
//                    of rows is not known yet: its rows are not like the
//                    input's
absl::StatusOr<SubmissionPtr> submission_into(SetTable& sets,
                                              coordinator::RequestKind kind,
                                              const ConstTensorView& input,
                                              const TensorView& result,
                                              Terms terms);

// Messages to another rank of the set, or from one (or kAnySource).
//   InvalidArgument  that rank is not in the set
//   Unimplemented    the tensor is on a GPU
absl::StatusOr<SubmissionPtr> send_submission(SetTable& sets,
                                              const ConstTensorView& tensor,
                                              int to, MessageOptions options);
absl::StatusOr<SubmissionPtr> receive_submission(SetTable& sets,
                                                 const TensorView& tensor,
                                                 int from,
                                                 MessageOptions options);

// kJoin or kReplay, which need no tensor. Without a name it is numbered.
absl::StatusOr<SubmissionPtr> bare_submission(SetTable& sets,
                                              coordinator::RequestKind kind,
                                              const ProcessSet& set,
                                              std::string name = {});

// `ranks` may be in any order. An existing set of these ranks is detected
// later, when the set is added.
absl::StatusOr<SubmissionPtr> add_set_submission(SetTable& sets,
                                                 std::vector<int> ranks);
// The members alone submit these two. `key` tells sets of the same ranks apart.
//   InvalidArgument  this rank is not a member, or the ranks make no set
absl::StatusOr<SubmissionPtr> new_set_submission(SetTable& sets,
                                                 std::vector<int> ranks,
                                                 const std::string& key);
absl::StatusOr<SubmissionPtr> free_set_submission(SetTable& sets,
                                                  const ProcessSet& set);
absl::StatusOr<SubmissionPtr> remove_set_submission(SetTable& sets,
                                                    const ProcessSet& set);

}  // namespace hvd::runtime
