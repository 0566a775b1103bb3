// SPDX-License-Identifier: Apache-2.0
// A QuickCall is a short call of a plane, an allreduce or a barrier, that is made
// again and again and expects to find all members there: it costs a fraction of a
// call that is ready to wait.
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

  // Makes the call, of an allreduce on `pieces`, if all members come within a few
  // microseconds. If not, this rank has entered it: the next call of the plane is
  // the same one with the same arguments, and waits for them. To other members
  // there is no difference.
  virtual bool run(std::span<const Piece> pieces,
                   const transport::DataTag& tag) = 0;
};

}  // namespace hvd::collective
