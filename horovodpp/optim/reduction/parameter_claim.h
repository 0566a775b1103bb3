// SPDX-License-Identifier: Apache-2.0
// A ParameterClaim marks parameters as reduced by one optimizer. Two such
// optimizers would reduce each gradient twice, so constructing the second
// fails. Claims of a job that this rank has left are void.
//
// Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "horovodpp/nn/state_dict.h"
#include "horovodpp/runtime/membership.h"

namespace hvd::optim {

class ParameterClaim {
 public:
  // `parameters` outlive this object; `name` is the optimizer's.
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
