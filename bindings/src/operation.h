// SPDX-License-Identifier: Apache-2.0
// An Operation is a collective in flight, as Python sees it: poll(), wait() and
// the result.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/unique_ptr.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "horovodpp/core/thread/future.h"
#include "horovodpp/runtime/settings/options.h"
#include "src/errors.h"

namespace hvd::python {

// A one-dimensional uint8 array over memory of `device` that `owner` keeps
// alive. It supports DLPack and, on the CPU, the buffer protocol. Needs the
// GIL.
nanobind::object bytes_over(void* memory, std::size_t bytes,
                            std::shared_ptr<const void> owner,
                            const Device& device = Device::cpu());

// A Buffer as (bytes, dtype, shape). `bytes` is a one-dimensional uint8 array
// over the buffer's memory, which it keeps alive; it supports DLPack and the
// buffer protocol. Needs the GIL.
nanobind::object to_python(const Buffer& buffer);
nanobind::object to_python(const std::vector<Buffer>& buffers);
nanobind::object to_python(const AlltoallResult& result);
inline nanobind::object to_python(int number) { return nanobind::int_(number); }

inline Status status_of(const Status& outcome) { return outcome; }
template <typename T>
Status status_of(const StatusOr<T>& outcome) {
  return outcome.status();
}

class Operation {
 public:
  virtual ~Operation() = default;
  virtual bool poll() const = 0;
  // Call without the GIL; see Future::wait_unless().
  virtual bool wait_unless(bool (*interrupted)()) const = 0;
  // The same with a timeout; and its error, which asks the other ranks.
  virtual WaitEnd wait_within(double seconds, bool (*interrupted)()) const = 0;
  virtual Status timed_out(double seconds) const = 0;
  // Orders a CUDA stream behind the operation; nullopt once `interrupted`. Call
  // without the GIL; see Future::wait_unless(stream).
  virtual std::optional<Status> order_unless(void* stream,
                                             bool (*interrupted)()) const = 0;
  // Calls `callback` once the operation is done, possibly on another thread. The callback must
  // neither throw nor block.
  virtual void then(std::function<void()> callback) const = 0;
  // Call once the operation is done, with the GIL.
  virtual nanobind::object result() = 0;
};

template <typename T>
class FutureOperation final : public Operation {
 public:
  explicit FutureOperation(Future<T> future) : future_(std::move(future)) {}
  // Waiting for an operation in flight needs no GIL.
  ~FutureOperation() override {
    if (future_.poll()) return;
    const nanobind::gil_scoped_release without_gil;
    future_ = Future<T>();
  }

  bool poll() const override { return future_.poll(); }
  bool wait_unless(bool (*interrupted)()) const override {
    return future_.wait_unless(interrupted);
  }
  WaitEnd wait_within(double seconds, bool (*interrupted)()) const override {
    return future_.wait_within(seconds, interrupted);
  }
  Status timed_out(double seconds) const override {
    return future_.timed_out(seconds);
  }
  std::optional<Status> order_unless(void* stream,
                                     bool (*interrupted)()) const override {
    const auto outcome = future_.wait_unless(stream, interrupted);
    if (!outcome) return std::nullopt;
    return status_of(*outcome);
  }
  void then(std::function<void()> callback) const override {
    future_.then([callback = std::move(callback)](const auto&) { callback(); });
  }
  nanobind::object result() override {
    if constexpr (std::is_void_v<T>) {
      raise_if_failed(future_.wait());
      return nanobind::none();
    } else {
      auto outcome = future_.wait();
      raise_if_failed(outcome.status());
      return to_python(*std::move(outcome));
    }
  }

 private:
  Future<T> future_;
};

// Whether only this rank can have caused the error.
inline bool is_of_this_rank(StatusCode code) {
  return code == StatusCode::kFailedPrecondition ||
         code == StatusCode::kAlreadyExists;
}

// Wraps `future` in an Operation. Raises at once the errors that this rank finds by itself: invalid
// arguments, or a call outside a job.
template <typename T>
std::unique_ptr<Operation> operation(Future<T> future) {
  if (future.poll()) {
    const Status status = status_of(future.wait());
    if (!status.ok() &&
        (future.was_ready() || is_of_this_rank(status.code()))) {
      raise(status);
    }
  }
  return std::make_unique<FutureOperation<T>>(std::move(future));
}

// Blocks until the operation is done. A signal handler may raise meanwhile,
// which ends the wait. Call with the GIL; other threads have it during the
// wait.
nanobind::object wait(Operation& operation);
// The same, for at most `seconds`, if there are any. Raises TimeoutError.
nanobind::object wait_within(Operation& operation,
                             std::optional<double> seconds);

// Makes a CUDA stream wait for the operation, once that is in a stream of its
// GPU. As wait() otherwise.
void order(const Operation& operation, std::uintptr_t stream);

// Whether a signal handler of Python has raised; the exception stays set. Call
// without the GIL.
bool handler_has_raised();

void add_operation(nanobind::module_& module);

}  // namespace hvd::python
