// SPDX-License-Identifier: Apache-2.0
// What differs where a tensor lies on a GPU: whether it can be reached, what its
// results lie in, and which work on the GPU comes before an operation.
//
// An operation follows what was in its caller's stream (`stream` in its options)
// when it was submitted. Its outcome is told when its results are in memory, so that
// whoever has waited for it may use them in any stream.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/coordinator/submission.h"
#include "horovodpp/core/buffer.h"
#include "horovodpp/core/tensor_view.h"

namespace hvd::runtime {

// Of a tensor that is said to lie on a GPU.
//   Unimplemented    no GPU can be used here; says why
//   InvalidArgument  its memory belongs to another device
absl::Status check_gpu_tensor(const ConstTensorView& tensor);

// Uninitialized memory for a result, where the operation's tensors are.
//   ResourceExhausted  there is not enough
absl::StatusOr<Buffer> allocate_result(DType dtype, Shape shape,
                                       const Device& device);

// Notes what the submission follows: all that is in its stream by now; and whether
// that is being captured, and the submission with it.
//   (errors)  CUDA's
absl::Status note_order(coordinator::Submission& submission);

}  // namespace hvd::runtime
