// SPDX-License-Identifier: Apache-2.0
// NotOnCpuError is thrown where the CPU is about to read or write a tensor that is on
// a GPU: by an operation without code for GPUs, or by data().
#pragma once

#include <string>

#include "horovodpp/core/device.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class NotOnCpuError : public InvalidArgument {
 public:
  // `tensor`: "float32[2,3]".
  NotOnCpuError(const std::string& tensor, Device device)
      : InvalidArgument(tensor + " is on " + device.to_string() +
                        ", where the CPU neither reads nor writes; copy it "
                        "with to(hvd::Device::cpu())") {}

  bool names_operation() const { return names_operation_; }

  // Throws the same error of `operation`, unless it names one.
  [[noreturn]] static void rethrow(const NotOnCpuError& error,
                                   const char* operation);

 private:
  explicit NotOnCpuError(const std::string& message)
      : InvalidArgument(message), names_operation_(true) {}

  bool names_operation_ = false;
};

}  // namespace autograd
}  // namespace hvd
