// SPDX-License-Identifier: Apache-2.0
// The CudaDriver is what this process knows of CUDA: the driver's functions, the
// GPUs there are, and errors in words. It uses each GPU's primary context, which is
// the one of the CUDA runtime, and so of every program that uses that.
//
//   HVD_ASSIGN_OR_RETURN(auto cuda, CudaDriver::load());
//   HVD_ASSIGN_OR_RETURN(const CudaContext context, cuda->context(0));
//   HVD_ASSIGN_OR_RETURN(CudaStream stream, CudaStream::create(context));
//
// Thread-safe. It outlives every object made with it.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/device/cuda_api.h"
#include "horovodpp/device/cuda_context.h"

namespace hvd::device {

class CudaDriver {
 public:
  static constexpr const char* kLibrary = "libcuda.so.1";
  // CUDA 11.4: the first that has all we use, of which graphs came last.
  static constexpr int kOldestVersion = 11040;

  //   NotFound            there is no driver; says which file was looked for, and
  //                       what brings it
  //   FailedPrecondition  it is too old, or has no GPU
  static absl::StatusOr<std::unique_ptr<CudaDriver>> load(
      const std::string& file = kLibrary);

  ~CudaDriver();
  CudaDriver(const CudaDriver&) = delete;
  CudaDriver& operator=(const CudaDriver&) = delete;

  int devices() const { return devices_; }
  // 12040 is 12.4.
  int version() const { return version_; }
  // "NVIDIA H200".
  absl::StatusOr<std::string> name_of(int index) const;

  // Which GPU of all that there are that one is, in every process alike.
  absl::StatusOr<CuUuid> uuid_of(int index) const;

  // Of GPU `index`; made when it is first asked for. Later calls take no lock.
  //   InvalidArgument  there is no such GPU; says how many there are
  //   Internal         the driver refuses
  absl::StatusOr<CudaContext> context(int index);

  // The GPU that `memory` lies on.
  //   InvalidArgument  CUDA does not know it, or it is pinned memory of the host
  absl::StatusOr<int> device_of(const void* memory) const;

  // Waits until the memory of all GPUs that was let go has been freed, and destroys spare
  // events. Whether that is done by the deadline.
  bool settle(std::chrono::steady_clock::time_point deadline);

 private:
  CudaDriver(const CudaApi& api, int version, int devices);

  const CudaApi api_;
  const int version_;
  const int devices_;
  // Of each GPU; nullptr: nobody has asked for its context.
  std::vector<std::atomic<const CudaContext*>> contexts_;
  Mutex mutex_;
  std::vector<std::unique_ptr<CudaUpkeep>> upkeeps_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::device
