// SPDX-License-Identifier: Apache-2.0
// The fake NCCL for tests, loaded once per process.
#pragma once

#include "horovodpp/device/shared_library.h"
#include "test/support/fake_nccl/control.h"
#include "test/support/real_gpus.h"

namespace hvd::testing {

class FakeNccl {
 public:
  static const char* file() { return HVD_FAKE_NCCL; }

  static void set_delay(unsigned microseconds) {
    function<decltype(fake_nccl_set_delay)>("fake_nccl_set_delay")(
        microseconds);
  }
  static void fault(const char* kind, int rank = 0, int n = 0) {
    function<decltype(fake_nccl_fault)>("fake_nccl_fault")(kind, rank, n);
  }
  static std::size_t objects() {
    return function<decltype(fake_nccl_objects)>("fake_nccl_objects")();
  }
  static std::size_t windows() {
    return function<decltype(fake_nccl_windows)>("fake_nccl_windows")();
  }

 private:
  template <typename Function>
  static Function* function(const char* name) {
    fail_on_real_gpus();
    const auto library = device::SharedLibrary::load(file());
    return reinterpret_cast<Function*>(library.value().find(name).value());
  }
};

}  // namespace hvd::testing
