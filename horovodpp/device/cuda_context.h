// SPDX-License-Identifier: Apache-2.0
// A CudaContext is a GPU as this process uses it; a CurrentContext makes it
// current on a thread.
//
//   const CurrentContext current(context);
//   HVD_RETURN_IF_ERROR(current.status());
//
// A CudaContext may be used by any thread, a CurrentContext by the thread that
// created it.
#pragma once

#include "absl/status/status.h"
#include "horovodpp/device/cuda_api.h"

namespace hvd::device {

class CudaUpkeep;

// Copied freely; valid as long as the driver.
struct CudaContext {
  const CudaApi* api;
  CuContext handle;
  int index;  // As in Device::cuda(index).
  CudaUpkeep* upkeep;
};

// OK, or an Internal error "<call>: <name of the error>, <its text>".
absl::Status status_of(const CudaApi& api, CuResult result, const char* call);

// Makes a context the current one of this thread for its lifetime. Meanwhile
// the thread's calls of the driver do not disturb the program's capture of a
// stream, unless they enqueue work on that very stream. Otherwise polling an
// event, or an allocation, would make the capture fail.
class CurrentContext {
 public:
  explicit CurrentContext(const CudaContext& context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

  const absl::Status& status() const { return status_; }

 private:
  const CudaApi& api_;
  absl::Status status_;
  int capture_mode_ = kCuCaptureRelaxed;  // The thread's, before and after.
};

}  // namespace hvd::device
