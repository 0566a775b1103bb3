// SPDX-License-Identifier: Apache-2.0
// The fake CUDA driver for tests, loaded once per process.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "horovodpp/device/cuda_driver.h"
#include "horovodpp/device/cuda_stream.h"
#include "horovodpp/device/shared_library.h"
#include "test/support/fake_cuda/control.h"
#include "test/support/real_gpus.h"

namespace hvd::testing {

class FakeCuda {
 public:
  static const char* file() { return HVD_FAKE_CUDA; }

  static void set_delay(unsigned microseconds) {
    function<decltype(fake_cuda_set_delay)>("fake_cuda_set_delay")(
        microseconds);
  }
  static void set_queue_limit(std::size_t operations) {
    function<decltype(fake_cuda_set_queue_limit)>("fake_cuda_set_queue_limit")(
        operations);
  }
  static void fail_next(const char* name, int result, int times = 1) {
    function<decltype(fake_cuda_fail_next)>("fake_cuda_fail_next")(name, result,
                                                                   times);
  }
  // Twice, because an allocation tries twice.
  static void run_out_of_memory() { fail_next("cuMemAlloc_v2", 2, 2); }
  static void during_next(const char* name, void (*during)(void*),
                          void* argument) {
    function<decltype(fake_cuda_during_next)>("fake_cuda_during_next")(
        name, during, argument);
  }
  static std::size_t calls(const char* name) {
    return function<decltype(fake_cuda_calls)>("fake_cuda_calls")(name);
  }
  static void put(void* stream, int (*work)(void*), void* argument) {
    function<decltype(fake_cuda_put)>("fake_cuda_put")(stream, work, argument);
  }
  static std::size_t objects() {
    return function<decltype(fake_cuda_objects)>("fake_cuda_objects")();
  }

  static std::size_t freed_too_early() {
    return function<decltype(fake_cuda_freed_too_early)>(
        "fake_cuda_freed_too_early")();
  }
  static std::size_t launches() {
    return function<decltype(fake_cuda_launches)>("fake_cuda_launches")();
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
