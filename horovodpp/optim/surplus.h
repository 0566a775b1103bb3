// SPDX-License-Identifier: Apache-2.0
// What optimizers say of a backward pass too many.
#pragma once

#include <string>

#include "horovodpp/replica/gradient_reducer.h"

namespace hvd::optim {

// Before the engine adds to the gradient of `name`, which gets `passes` contributions
// in a step: it must not be on its way already, and must have where to go.
//   hvd::Error  the job's; FailedPrecondition: it has had all of them
void refuse_surplus(const replica::GradientReducer& reducer,
                    const std::string& name, int passes);

}  // namespace hvd::optim
