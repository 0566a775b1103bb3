// SPDX-License-Identifier: Apache-2.0
// A CallMeter shows other threads which library call the wire-driving thread is
// in. These calls normally return at once; a call that does not return is stuck
// in the library.
//
//   CallMeter::Call call(meter, "looking for mail");     // While it lives.
//   ...
//   if (meter.now().what != nullptr) ...                 // Another thread.
//
// One call at a time; now() is for any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace hvd::transport {

class CallMeter {
 public:
  // `what` completes "MPI does not return from ...", and stays valid.
  class Call {
   public:
    Call(CallMeter& meter, const char* what) : meter_(meter) {
      meter_.number_.fetch_add(1, std::memory_order_relaxed);
      meter_.what_.store(what, std::memory_order_release);
    }
    ~Call() { meter_.what_.store(nullptr, std::memory_order_release); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    CallMeter& meter_;
  };

  // The call in progress. Equal numbers mean the same call.
  struct Now {
    const char* what = nullptr;  // nullptr: none.
    std::uint64_t number = 0;
  };
  Now now() const {
    const char* const what = what_.load(std::memory_order_acquire);
    return {what, number_.load(std::memory_order_relaxed)};
  }

 private:
  std::atomic<std::uint64_t> number_{0};
  std::atomic<const char*> what_{nullptr};
};

}  // namespace hvd::transport
