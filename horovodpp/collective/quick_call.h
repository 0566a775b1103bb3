// SPDX-License-Identifier: Apache-2.0
// A QuickCall is a short call of a plane, an allreduce or a barrier, that is
// repeated and expects all members to be there. It costs a fraction of a call
// that is ready to wait.
//
//   const auto quick = plane.quick_allreduce(reduction, bytes);  // nullptr: none
//   if (!quick->run(pieces, tag)) {
//     status = plane.allreduce(pieces, reduction, {tag, interrupt});
//   }
//
// Its plane outlives it. Not thread-safe.
#pragma once

#include <span>

#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/transport/communicator.h"

namespace hvd::collective {

class QuickCall {
 public:
  virtual ~QuickCall() = default;

  // Makes the call, an allreduce of `pieces`, if all members come within a few
  // microseconds. If not, this rank has entered the call. Its next call of the
  // plane must be the same one with the same arguments, and waits for the
  // members. Other members see no difference.
  virtual bool run(std::span<const Piece> pieces,
                   const transport::DataTag& tag) = 0;
};

}  // namespace hvd::collective
