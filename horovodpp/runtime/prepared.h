// SPDX-License-Identifier: Apache-2.0
// A Prepared is a collective that is repeated with the same memory: its
// arguments are checked, and its name is looked up, once.
//
//   hvd::Prepared sum = hvd::value_or_throw(
//       hvd::current_runtime().prepare_allreduce_(grad, {.name = "fc1.weight"}));
//   for (...) {
//     ...
//     sum.start();                        // Returns at once.
//     ...
//     hvd::throw_if_error(sum.wait());    // Now grad is the mean.
//   }
//
// Other ranks see each run as a call with that name; they need not have
// prepared theirs. The memory is borrowed from start() until the outcome is
// known; the destructor waits for the outcome. The options' `keep_alive` is
// held as long as the Prepared. After its job has ended each start() fails with
// FailedPrecondition.
//
// For one thread at a time.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <memory>

#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"

namespace HVD_EXPORT hvd {

class Runtime;
namespace runtime {
class PreparedCall;
}

class Prepared {
 public:
  // An empty object: each start() fails with FailedPrecondition.
  Prepared();
  ~Prepared();
  Prepared(Prepared&& other) noexcept;
  Prepared& operator=(Prepared&& other) noexcept;

  // Starts the collective once more, after waiting for its previous run. wait()
  // returns the outcome.
  void start();
  // Blocks until the last run has its outcome; callable any number of times.
  // Returns the errors of the collective (see runtime.h).
  //   FailedPrecondition  the collective was never started
  Status wait();
  // For results on a GPU, as Future::wait(stream). Blocks until the collective
  // is enqueued on the GPU, and orders later work in `stream` (a cudaStream_t)
  // after it. The next start() waits for the collective to end.
  Status wait(void* stream);
  // Whether the outcome is known; never blocks.
  bool poll();

  // start() and wait() in one, without waking another thread.
  Status run();

 private:
  friend class Runtime;
  explicit Prepared(std::unique_ptr<runtime::PreparedCall> call);

  std::unique_ptr<runtime::PreparedCall> call_;
};

}  // namespace hvd
