// SPDX-License-Identifier: Apache-2.0
// A GpuClip clips gradients on a GPU by their norm, and removes the scale of
// the loss from them. All work runs in stream order. Its findings stay on the
// GPU, where the program's kernels may read them.
//
//   hvd::GpuClip clip = hvd::value_or_throw(hvd::GpuClip::of(gradients));
//   ...                                           // Each step, after the reduction:
//   hvd::throw_if_error(clip.start(
//       {.max_norm = 1.0, .factor = 1.0 / loss_scale, .stream = stream}));
//   update<<<blocks, threads, 0, stream>>>(weights, clip.on_gpu());
//   hvd::ClipFindings found = hvd::value_or_throw(clip.wait(stream));  // Optional.
//
// If the update kernel skips the step by itself when not_finite is not 0, the
// host need not wait. A decision by the host needs a wait. Ranks with equal
// gradients get findings that are equal bit by bit.
//
// The gradients are borrowed as long as this object lives. Destroy it after its
// work has ended and after the last replay of a graph that contains such work.
// For one thread at a time.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <limits>
#include <memory>
#include <vector>

#include "horovodpp/core/clip_findings.h"
#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"
#include "horovodpp/core/tensor_view.h"

namespace HVD_EXPORT hvd {

struct GpuClipOptions {
  // Limit of the norm of all gradients, after `factor`. Infinity: no limit.
  double max_norm = std::numeric_limits<double>::infinity();
  // Multiplies every gradient before the norm is taken.
  double factor = 1.0;
  // A stream of the gradients' GPU (a cudaStream_t); nullptr: the legacy
  // default stream.
  void* stream = nullptr;
};

class GpuClip {
 public:
  // The gradients may have any floating-point types, and lie on one GPU.
  //   InvalidArgument    no gradients, or some that are not floating-point
  //                      tensors on one GPU
  //   Unimplemented      no CUDA driver; the message says what installs it
  //   ResourceExhausted  the GPU has no memory left for 16 bytes per 4096
  //                      elements
  static StatusOr<GpuClip> of(std::vector<TensorView> gradients);
  ~GpuClip();
  GpuClip(GpuClip&& other) noexcept;
  GpuClip& operator=(GpuClip&& other) noexcept;

  // Enqueues the clipping on the stream: multiplies the gradients by `factor`
  // and, if their norm exceeds max_norm, by max_norm / (norm + 1e-6). If a
  // gradient is not finite, all gradients stay unchanged. A graph may capture
  // this work.
  //   InvalidArgument  max_norm or factor is not a sensible number
  //   Internal         CUDA's errors
  Status start(const GpuClipOptions& options);

  // The findings of the last start() or its last replay, for work that follows
  // in the stream.
  const ClipFindings* on_gpu() const;

  // The findings, after the host has waited for all work in `stream`. Do not
  // call it while the stream is captured.
  //   Internal  CUDA's errors, also from other work in the stream
  StatusOr<ClipFindings> wait(void* stream);

 private:
  struct Parts;
  explicit GpuClip(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace hvd
