// SPDX-License-Identifier: Apache-2.0
// The special handling of tensors on a GPU: their reachability, the place of
// results, and the work on the GPU before an operation.
//
// An operation follows the work that was in its caller's stream (`stream` in
// its options) at submission. Its outcome is reported when the results are in
// memory, so a caller that has waited may use them in any stream.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/coordinator/protocol/submission.h"
#include "horovodpp/core/memory/buffer.h"
#include "horovodpp/core/tensor_view.h"

namespace hvd::runtime {

// Checks a tensor whose device is said to be a GPU.
//   Unimplemented    no GPU can be used here; the message says why
//   InvalidArgument  its memory belongs to another device
absl::Status check_gpu_tensor(const ConstTensorView& tensor);

// Allocates uninitialized memory for a result on the device of the operation's
// tensors.
//   ResourceExhausted  not enough memory
absl::StatusOr<Buffer> allocate_result(DType dtype, Shape shape,
                                       const Device& device);

// Records the work that the submission follows: everything in its stream so
// far. Also records whether the stream, and so the submission, is being
// captured.
//   (errors)  CUDA's errors
absl::Status note_order(coordinator::Submission& submission);

}  // namespace hvd::runtime
