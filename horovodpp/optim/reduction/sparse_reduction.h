// SPDX-License-Identifier: Apache-2.0
// The sparse gradients of a DistributedOptimizer. A parameter that expects a
// sparse gradient is sent as rows on all ranks, also by ranks with a dense
// gradient or none. Or it is sent dense on all.
#pragma once

#include <memory>
#include <vector>

#include "horovodpp/core/reduce_op.h"
#include "horovodpp/nn/state_dict.h"
#include "horovodpp/replica/gradient_reducer.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::optim {

bool is_sparse_parameter(const Tensor& parameter);

//   InvalidArgument  rows of one cannot be reduced with this op
void check_sparse_op(const std::vector<nn::NamedTensor>& parameters,
                     ReduceOp op);

// Makes the gradient sparse, with unique rows: all rows of a dense gradient, no
// rows if absent.
void make_sparse(const Tensor& parameter);
// Makes the gradient dense and contiguous, zeros if absent, and returns it.
Tensor dense_gradient(const Tensor& parameter);

// Sets the gradient to the gathered rows.
//   InvalidArgument  a rank has a row that this rank's parameter lacks
void take_gathered(const Tensor& parameter,
                   const replica::GatheredRows& gathered);

}  // namespace hvd::optim
