// SPDX-License-Identifier: Apache-2.0
// A check that the parameters of all ranks are still equal.
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/nn/state_dict.h"
#include "horovodpp/replica/gradient_reducer.h"

namespace hvd::optim {

// Compares the parameters of the reducer's ranks, which all call it. Reads the
// parameters once and gathers two numbers from each rank, or, if they differ,
// one for each parameter.
//   hvd::Error (DataLoss)  they differ, on all ranks; names the first parameter
//                          that does, and the ranks in the minority
void check_replicas(const std::vector<nn::NamedTensor>& parameters,
                    replica::GradientReducer& reducer, std::int64_t step);

}  // namespace hvd::optim
