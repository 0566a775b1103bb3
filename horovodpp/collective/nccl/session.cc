// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/nccl/session.h"

#include "horovodpp/core/status.h"

namespace hvd::collective {

absl::StatusOr<device::CudaStream*> NcclSession::stream_in(Streams& streams,
                                                           int gpu) {
  std::unique_ptr<device::CudaStream>& stream = streams[gpu];
  if (stream == nullptr) {
    HVD_ASSIGN_OR_RETURN(device::CudaDriver* const cuda, gpus_.driver());
    HVD_ASSIGN_OR_RETURN(const device::CudaContext context, cuda->context(gpu));
    HVD_ASSIGN_OR_RETURN(device::CudaStream made,
                         device::CudaStream::create(context));
    stream = std::make_unique<device::CudaStream>(std::move(made));
  }
  return stream.get();
}

}  // namespace hvd::collective
