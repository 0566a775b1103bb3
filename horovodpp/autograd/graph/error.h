// SPDX-License-Identifier: Apache-2.0
// The exceptions of autograd. Each class is one kind of mistake, so that a
// caller can catch the one it expects:
//
//   try {
//     loss.backward();
//   } catch (const hvd::autograd::VersionError& e) {
//     ...                                  // e.what() names the tensor
//   }
//
// They derive from hvd::Error and carry a Status, as does InvalidArgument
// (core/error.h), which reports a wrong shape, dtype, index …
#pragma once

#include <string>

#include "horovodpp/core/error.h"  // IWYU pragma: export
#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace autograd {

// The base class of errors in the use of a graph.
class AutogradError : public Error {
 public:
  explicit AutogradError(const std::string& message)
      : Error(Status(StatusCode::kFailedPrecondition, message)) {}
};

// A gradient was requested of a tensor that has none.
class NotDifferentiableError : public AutogradError {
  using AutogradError::AutogradError;
};
// backward() of a tensor of more than one element, without a gradient.
class NonScalarError : public AutogradError {
  using AutogradError::AutogradError;
};
// An earlier backward freed the graph's saved tensors.
class GraphFreedError : public AutogradError {
  using AutogradError::AutogradError;
};
// A tensor that backward needs was modified in place.
class VersionError : public AutogradError {
  using AutogradError::AutogradError;
};
// An in-place operation on a leaf that requires grad.
class LeafInplaceError : public AutogradError {
  using AutogradError::AutogradError;
};
// An in-place operation on a view whose history forbids it.
class ViewInplaceError : public AutogradError {
  using AutogradError::AutogradError;
};
// A hook that cannot be registered, or that returned an invalid tensor.
class HookError : public AutogradError {
  using AutogradError::AutogradError;
};

// A checkpointed region cannot be recomputed, or need not be checkpointed.
class CheckpointError : public AutogradError {
  using AutogradError::AutogradError;
};
// A tensor made under InferenceMode was used as part of a graph.
class InferenceError : public AutogradError {
  using AutogradError::AutogradError;
};

}  // namespace autograd
}  // namespace hvd
