// SPDX-License-Identifier: Apache-2.0
// A CudaContext is a GPU as this process uses it; a CurrentContext has a thread use it.
//
//   const CurrentContext current(context);
//   HVD_RETURN_IF_ERROR(current.status());
//
// A CudaContext may be used by any thread, a CurrentContext by the one that made it.
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

// Makes a context the current one of this thread for as long as it lives. Calls of
// the driver by the thread do not disturb meanwhile the capture of a stream by the
// program, unless they put work into that very stream: elsewhere a look at an event, or an
// allocation, would make the capture fail.
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
  int capture_mode_ = kCuCaptureRelaxed;  // Of the thread, before and after.
};

}  // namespace hvd::device
