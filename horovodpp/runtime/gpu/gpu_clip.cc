// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/gpu/gpu_clip.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/device/cuda_kernels.h"
#include "horovodpp/device/cuda_memory.h"
#include "horovodpp/device/cuda_stream.h"
#include "horovodpp/device/gpus.h"
#include "horovodpp/runtime/execution/gpu_tensors.h"

namespace hvd {
namespace {

using device::CudaEvent;
using device::CudaKernels;
using device::CudaStream;
using Pieces = std::vector<CudaKernels::Piece>;

absl::Status check(const std::vector<TensorView>& gradients) {
  if (gradients.empty()) {
    return absl::InvalidArgumentError("no gradient was given to clip");
  }
  const Device gpu = gradients.front().device();
  for (const TensorView& gradient : gradients) {
    if (gradient.device().is_cpu() || gradient.device() != gpu) {
      return absl::InvalidArgumentError(absl::StrCat(
          "gradients on one GPU are clipped together, and one is on ",
          gradient.device().to_string(), ", the first on ", gpu.to_string()));
    }
    if (!is_floating_point(gradient.dtype())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a gradient of ", name_of(gradient.dtype()), " cannot be clipped"));
    }
    HVD_RETURN_IF_ERROR(runtime::check_gpu_tensor(gradient));
  }
  return absl::OkStatus();
}

absl::Status check(const GpuClipOptions& options) {
  if (options.max_norm >= 0 && std::isfinite(options.factor)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "gradients are clipped to a max_norm of 0 or more, and multiplied by a "
      "finite factor, not to ",
      options.max_norm, " and by ", options.factor));
}

}  // namespace

struct GpuClip::Parts {
  Parts(const CudaKernels& of_gpu, CudaStream own)
      : context(own.context()),
        kernels(of_gpu),
        stream(std::move(own)),
        read(context) {}

  const device::CudaContext context;
  const CudaKernels& kernels;
  // Runs after the caller's stream, which then waits for it.
  CudaStream stream;
  std::map<DType, Pieces> pieces;
  std::uint32_t sightings = 0;
  std::shared_ptr<std::byte> seen;
  std::shared_ptr<std::byte> found;
  device::PinnedMemory read;

  ClipFindings* findings() const {
    return reinterpret_cast<ClipFindings*>(found.get());
  }
  absl::Status run(const GpuClipOptions& options);
};

absl::Status GpuClip::Parts::run(const GpuClipOptions& options) {
  auto* next = reinterpret_cast<device::kernels::Sighting*>(seen.get());
  const auto* const first = next;
  for (const auto& [dtype, some] : pieces) {
    HVD_RETURN_IF_ERROR(kernels.look(stream, dtype, some, next));
    next += CudaKernels::sightings_of(some);
  }
  HVD_RETURN_IF_ERROR(kernels.judge(stream, {.sightings = first,
                                             .count = sightings,
                                             .factor = options.factor,
                                             .max_norm = options.max_norm,
                                             .findings = findings()}));
  for (const auto& [dtype, some] : pieces) {
    HVD_RETURN_IF_ERROR(kernels.convert(
        stream, some,
        {.from = dtype, .to = dtype, .factor = &findings()->factor}));
  }
  return absl::OkStatus();
}

GpuClip::GpuClip(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
GpuClip::GpuClip(GpuClip&& other) noexcept = default;
GpuClip& GpuClip::operator=(GpuClip&& other) noexcept = default;
// The GPU memory is freed once the GPU has done the queued work.
GpuClip::~GpuClip() = default;

StatusOr<GpuClip> GpuClip::of(std::vector<TensorView> gradients) {
  HVD_RETURN_IF_ERROR(check(gradients));
  auto& gpus = device::Gpus::of_process();
  const int gpu = gradients.front().device().index;
  HVD_ASSIGN_OR_RETURN(device::CudaDriver* const cuda, gpus.driver());
  HVD_ASSIGN_OR_RETURN(const device::CudaContext context, cuda->context(gpu));
  HVD_ASSIGN_OR_RETURN(const CudaKernels* const kernels, gpus.kernels(gpu));
  HVD_ASSIGN_OR_RETURN(CudaStream stream, CudaStream::create(context));
  auto parts = std::make_unique<Parts>(*kernels, std::move(stream));
  for (const TensorView& gradient : gradients) {
    parts->pieces[gradient.dtype()].push_back(
        {.from = gradient.data(),
         .to = gradient.data(),
         .count = gradient.num_elements()});
  }
  std::size_t sightings = 0;
  for (const auto& [dtype, some] : parts->pieces) {
    sightings += CudaKernels::sightings_of(some);
  }
  parts->sightings = static_cast<std::uint32_t>(sightings);
  HVD_ASSIGN_OR_RETURN(
      parts->seen, device::allocate_on(
                       context, sightings * sizeof(device::kernels::Sighting)));
  HVD_ASSIGN_OR_RETURN(parts->found,
                       device::allocate_on(context, sizeof(ClipFindings)));
  HVD_RETURN_IF_ERROR(parts->read.at_least(sizeof(ClipFindings)).status());
  return GpuClip(std::move(parts));
}

Status GpuClip::start(const GpuClipOptions& options) {
  HVD_RETURN_IF_ERROR(check(options));
  auto* const caller = static_cast<device::CuStream>(options.stream);
  HVD_ASSIGN_OR_RETURN(const CudaEvent before,
                       CudaEvent::after(parts_->context, caller));
  HVD_RETURN_IF_ERROR(parts_->stream.wait_for(before));
  HVD_RETURN_IF_ERROR(parts_->run(options));
  HVD_ASSIGN_OR_RETURN(
      const CudaEvent done,
      CudaEvent::after(parts_->context, parts_->stream.handle()));
  HVD_RETURN_IF_ERROR(done.hold_up(caller));
  return Status();
}

const ClipFindings* GpuClip::on_gpu() const { return parts_->findings(); }

StatusOr<ClipFindings> GpuClip::wait(void* stream) {
  HVD_ASSIGN_OR_RETURN(
      const CudaEvent before,
      CudaEvent::after(parts_->context, static_cast<device::CuStream>(stream)));
  HVD_RETURN_IF_ERROR(parts_->stream.wait_for(before));
  HVD_ASSIGN_OR_RETURN(std::byte* const memory,
                       parts_->read.at_least(sizeof(ClipFindings)));
  HVD_RETURN_IF_ERROR(
      parts_->stream.copy(memory, parts_->findings(), sizeof(ClipFindings)));
  HVD_RETURN_IF_ERROR(parts_->stream.synchronize());
  ClipFindings found;
  std::memcpy(&found, memory, sizeof(found));
  return found;
}

}  // namespace hvd
