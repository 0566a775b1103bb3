// SPDX-License-Identifier: Apache-2.0
// A GpuClip bounds the gradients of a program that has them on a GPU, and takes the scale
// of its loss from them. It is all done in the order of a stream: what it finds out lies
// on the GPU, where its own kernel reads it, and so may the program's.
//
//   hvd::GpuClip clip = hvd::value_or_throw(hvd::GpuClip::of(gradients));
//   ...                                           // Each step, after the reduction:
//   hvd::throw_if_error(clip.start(
//       {.max_norm = 1.0, .factor = 1.0 / loss_scale, .stream = stream}));
//   update<<<blocks, threads, 0, stream>>>(weights, clip.on_gpu());
//   hvd::ClipFindings found = hvd::value_or_throw(clip.wait(stream));  // If at all.
//
// An update that leaves the step out by itself, where not_finite is not 0, has the host
// wait for nothing; a host that decides waits once. Ranks whose gradients are equal find
// the same bits.
//
// The gradients are borrowed as long as this lives. It ends after what it has started, and
// after the last replay of a graph that has something of it. For one thread at a time.
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
  // Of all gradients after `factor`. Infinity: they are not bounded.
  double max_norm = std::numeric_limits<double>::infinity();
  // Multiplies every gradient before.
  double factor = 1.0;
  // Of their GPU (a cudaStream_t); nullptr: the legacy default one.
  void* stream = nullptr;
};

class GpuClip {
 public:
  // Of gradients of any floating-point types, on one GPU.
  //   InvalidArgument    there are none, or some that are not such
  //   Unimplemented      there is no CUDA driver; says what brings it
  //   ResourceExhausted  the GPU has no memory left, for 16 bytes of each 4096 elements
  static StatusOr<GpuClip> of(std::vector<TensorView> gradients);
  ~GpuClip();
  GpuClip(GpuClip&& other) noexcept;
  GpuClip& operator=(GpuClip&& other) noexcept;

  // Puts into the stream: looks at the gradients, multiplies them by `factor` and, if
  // their norm is larger than max_norm, by max_norm / (norm + 1e-6). If one is not finite,
  // all stay as they are. It may be captured into a graph.
  //   InvalidArgument  max_norm or factor is no sensible number
  //   Internal         CUDA's errors
  Status start(const GpuClipOptions& options);

  // What the last start() found, or the last replay of it: for what comes behind it in its
  // stream.
  const ClipFindings* on_gpu() const;

  // The same, when all that is in `stream` by now is done: the host waits for that. Not
  // while the stream is captured.
  //   Internal  CUDA's errors, of the stream's work as well
  StatusOr<ClipFindings> wait(void* stream);

 private:
  struct Parts;
  explicit GpuClip(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace hvd
