// SPDX-License-Identifier: Apache-2.0
// The differentiable operations on tensors, to any order of derivative. The
// comments give formulas and shapes; "~" means that shapes broadcast as in
// NumPy. Operations on two tensors need equal dtypes.
//
//   hvd::Tensor loss = hvd::cross_entropy(hvd::linear(x, w, b), labels);
//
// InvalidArgument, with the shapes, if shapes do not fit.
#pragma once

#include "horovodpp/autograd/graph/graph_ops.h"      // IWYU pragma: export
#include "horovodpp/ops/arithmetic_ops.h"            // IWYU pragma: export
#include "horovodpp/ops/choice_ops.h"                // IWYU pragma: export
#include "horovodpp/ops/copy_ops.h"                  // IWYU pragma: export
#include "horovodpp/ops/functional/attention.h"      // IWYU pragma: export
#include "horovodpp/ops/functional/batch_norm.h"     // IWYU pragma: export
#include "horovodpp/ops/functional/cross_entropy.h"  // IWYU pragma: export
#include "horovodpp/ops/functional/dropout.h"        // IWYU pragma: export
#include "horovodpp/ops/functional/layer_norm.h"     // IWYU pragma: export
#include "horovodpp/ops/functional/losses.h"         // IWYU pragma: export
#include "horovodpp/ops/functional/lstm.h"           // IWYU pragma: export
#include "horovodpp/ops/gather_ops.h"                // IWYU pragma: export
#include "horovodpp/ops/images/average_pool.h"       // IWYU pragma: export
#include "horovodpp/ops/images/conv2d.h"             // IWYU pragma: export
#include "horovodpp/ops/images/layout.h"             // IWYU pragma: export
#include "horovodpp/ops/images/max_pool.h"           // IWYU pragma: export
#include "horovodpp/ops/index_ops.h"                 // IWYU pragma: export
#include "horovodpp/ops/lookup_ops.h"                // IWYU pragma: export
#include "horovodpp/ops/math_ops.h"                  // IWYU pragma: export
#include "horovodpp/ops/matmul_ops.h"                // IWYU pragma: export
#include "horovodpp/ops/max_ops.h"                   // IWYU pragma: export
#include "horovodpp/ops/part_ops.h"                  // IWYU pragma: export
#include "horovodpp/ops/reduce_ops.h"                // IWYU pragma: export
#include "horovodpp/ops/shift_ops.h"                 // IWYU pragma: export
#include "horovodpp/ops/slice_ops.h"                 // IWYU pragma: export
#include "horovodpp/ops/softmax_ops.h"               // IWYU pragma: export
#include "horovodpp/ops/unary_ops.h"                 // IWYU pragma: export
#include "horovodpp/ops/view_ops.h"                  // IWYU pragma: export
