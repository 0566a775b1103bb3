// SPDX-License-Identifier: Apache-2.0
// A Prepared is a collective that is made again and again with the same memory:
// its arguments are checked, and its name is looked up, once.
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
// To other ranks each time is a call by that name: they need not have prepared
// theirs. The memory is borrowed from start() until the outcome is there, which the
// destructor waits for; `keep_alive` of the options is held as long as the Prepared.
// It ends with its job: afterwards each start() fails with FailedPrecondition.
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
  // Of no collective: each start() fails with FailedPrecondition.
  Prepared();
  ~Prepared();
  Prepared(Prepared&& other) noexcept;
  Prepared& operator=(Prepared&& other) noexcept;

  // Begins the collective once more. Where it is still under way from the time
  // before, this waits for that. How it ends is told by wait().
  void start();
  // Blocks until what was started last has its outcome; callable any number of
  // times. The errors are those of the collective (see runtime.h).
  //   FailedPrecondition  nothing was started
  Status wait();
  // For results on a GPU, as Future::wait(stream): what is put into `stream` (a
  // cudaStream_t) from now on comes after them; blocks until the collective is in a
  // stream of the GPU. The next start() waits for the end, if that has not come by then.
  Status wait(void* stream);
  // Whether the outcome is there; never blocks.
  bool poll();

  // start() and wait(), for which no other thread is woken.
  Status run();

 private:
  friend class Runtime;
  explicit Prepared(std::unique_ptr<runtime::PreparedCall> call);

  std::unique_ptr<runtime::PreparedCall> call_;
};

}  // namespace hvd
