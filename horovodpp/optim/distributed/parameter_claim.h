// SPDX-License-Identifier: Apache-2.0
// A ParameterClaim says that one optimizer reduces the gradients of some
// parameters. Two that did would reduce each gradient twice; so the second is
// refused when it is made. Claims of a job that this rank has left are void.
//
// Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "horovodpp/nn/named_tensor.h"
#include "horovodpp/runtime/membership.h"

namespace hvd::optim {

class ParameterClaim {
 public:
  // `parameters` outlive it; `name` is the optimizer's.
  //   InvalidArgument  another claim has one of them
  ParameterClaim(const std::vector<nn::NamedTensor>& parameters,
                 std::string name, Membership membership);
  ~ParameterClaim();
  ParameterClaim(const ParameterClaim&) = delete;
  ParameterClaim& operator=(const ParameterClaim&) = delete;

 private:
  const std::vector<nn::NamedTensor>& parameters_;
  const std::string name_;
  const Membership membership_;
};

}  // namespace hvd::optim
