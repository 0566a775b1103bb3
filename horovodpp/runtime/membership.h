// SPDX-License-Identifier: Apache-2.0
// A Membership is a rank's part in a job. Objects that may outlive the job hold
// one: a reducer, an optimizer.
//
//   const Membership membership = runtime.membership();
//   ...
//   HVD_ASSIGN_OR_RETURN(const std::shared_ptr<Runtime> job, membership.enter());
//   job->allreduce_async_(...);
//
// The part ends with stop(), with reform() or with the Runtime. Ending it waits
// for threads that are inside; later calls of enter() fail. A Membership does
// not keep the job alive, so another job can begin.
//
// Thread-safe. A value.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <memory>
#include <utility>

#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"

namespace HVD_EXPORT hvd {

class Runtime;

class Membership {
 public:
  // A membership in a job that has ended.
  Membership() = default;
  explicit Membership(std::weak_ptr<Runtime> runtime)
      : runtime_(std::move(runtime)) {}

  // Returns the Runtime, which cannot end while the caller holds the pointer.
  // Hold it briefly, and wait for nothing meanwhile.
  //   FailedPrecondition  this rank has left the job; the message says what to
  //                       do
  StatusOr<std::shared_ptr<Runtime>> enter() const;

 private:
  std::weak_ptr<Runtime> runtime_;
};

}  // namespace hvd
