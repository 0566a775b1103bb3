// SPDX-License-Identifier: Apache-2.0
// How a DistributedOptimizer sends the gradient of a parameter that expects a sparse
// one: as rows, on all ranks, whatever each rank's own gradient is; or as a whole.
#pragma once

#include <memory>
#include <vector>

#include "horovodpp/core/reduce_op.h"
#include "horovodpp/nn/named_tensor.h"
#include "horovodpp/replica/gradient_reducer.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::optim {

bool is_sparse_parameter(const Tensor& parameter);

//   InvalidArgument  rows of one cannot be reduced with this op
void check_sparse_op(const std::vector<nn::NamedTensor>& parameters,
                     ReduceOp op);

// Makes the gradient one of rows, each once: all rows of a dense one, none if there
// is none.
void make_sparse(const Tensor& parameter);
// Makes it whole: zeros if there is none.
void make_dense(const Tensor& parameter);

// The gradient becomes what was gathered.
//   InvalidArgument  a rank has a row that this rank's parameter has not
void take_gathered(const Tensor& parameter,
                   const replica::GatheredRows& gathered);

}  // namespace hvd::optim
