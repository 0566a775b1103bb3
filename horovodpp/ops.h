// SPDX-License-Identifier: Apache-2.0
// The differentiable operations on tensors, to any order of derivative. The
// comments give formulas and shapes; "~" means that shapes broadcast as in
// NumPy. Operands of different dtypes are promoted as in PyTorch.
//
//   hvd::Tensor loss = hvd::cross_entropy(hvd::linear(x, w, b), labels);
//
// InvalidArgument, with the shapes, if shapes do not fit.
#pragma once

#include "horovodpp/autograd/graph/graph_ops.h"       // IWYU pragma: export
#include "horovodpp/ops/attention/attention.h"        // IWYU pragma: export
#include "horovodpp/ops/attention/rotary.h"           // IWYU pragma: export
#include "horovodpp/ops/binary/binary_ops.h"          // IWYU pragma: export
#include "horovodpp/ops/binary/logic_ops.h"           // IWYU pragma: export
#include "horovodpp/ops/binary/number_ops.h"          // IWYU pragma: export
#include "horovodpp/ops/binary/pair_ops.h"            // IWYU pragma: export
#include "horovodpp/ops/binary/triple_ops.h"          // IWYU pragma: export
#include "horovodpp/ops/composed/differences.h"       // IWYU pragma: export
#include "horovodpp/ops/composed/distances.h"         // IWYU pragma: export
#include "horovodpp/ops/composed/elements.h"          // IWYU pragma: export
#include "horovodpp/ops/composed/inplace.h"           // IWYU pragma: export
#include "horovodpp/ops/composed/matrices.h"          // IWYU pragma: export
#include "horovodpp/ops/composed/measures.h"          // IWYU pragma: export
#include "horovodpp/ops/composed/parts.h"             // IWYU pragma: export
#include "horovodpp/ops/composed/quantiles.h"         // IWYU pragma: export
#include "horovodpp/ops/composed/selections.h"        // IWYU pragma: export
#include "horovodpp/ops/elementwise_ops.h"            // IWYU pragma: export
#include "horovodpp/ops/functional/dropout.h"         // IWYU pragma: export
#include "horovodpp/ops/functional/losses.h"          // IWYU pragma: export
#include "horovodpp/ops/functional/lstm.h"            // IWYU pragma: export
#include "horovodpp/ops/functional/norms.h"           // IWYU pragma: export
#include "horovodpp/ops/images/images.h"              // IWYU pragma: export
#include "horovodpp/ops/indices/index_ops.h"          // IWYU pragma: export
#include "horovodpp/ops/indices/mask_ops.h"           // IWYU pragma: export
#include "horovodpp/ops/indices/scatter_ops.h"        // IWYU pragma: export
#include "horovodpp/ops/matmul_ops.h"                 // IWYU pragma: export
#include "horovodpp/ops/order/distinct.h"             // IWYU pragma: export
#include "horovodpp/ops/order/draws.h"                // IWYU pragma: export
#include "horovodpp/ops/order/medians.h"              // IWYU pragma: export
#include "horovodpp/ops/order/order_ops.h"            // IWYU pragma: export
#include "horovodpp/ops/order/samples.h"              // IWYU pragma: export
#include "horovodpp/ops/order/search.h"               // IWYU pragma: export
#include "horovodpp/ops/reduce_ops.h"                 // IWYU pragma: export
#include "horovodpp/ops/reductions/running.h"         // IWYU pragma: export
#include "horovodpp/ops/reductions/scan_ops.h"        // IWYU pragma: export
#include "horovodpp/ops/reductions/statistics_ops.h"  // IWYU pragma: export
#include "horovodpp/ops/sampling/fractional_pools.h"  // IWYU pragma: export
#include "horovodpp/ops/sampling/grid_sample.h"       // IWYU pragma: export
#include "horovodpp/ops/sampling/interpolate.h"       // IWYU pragma: export
#include "horovodpp/ops/sampling/unpools.h"           // IWYU pragma: export
#include "horovodpp/ops/shape_ops.h"                  // IWYU pragma: export
#include "horovodpp/ops/shapes/contractions.h"        // IWYU pragma: export
#include "horovodpp/ops/shapes/copies.h"              // IWYU pragma: export
#include "horovodpp/ops/shapes/patches.h"             // IWYU pragma: export
#include "horovodpp/ops/shapes/patterns.h"            // IWYU pragma: export
#include "horovodpp/ops/shapes/views.h"               // IWYU pragma: export
#include "horovodpp/ops/unary/activations.h"          // IWYU pragma: export
#include "horovodpp/ops/unary/functions.h"            // IWYU pragma: export
#include "horovodpp/ops/unary_ops.h"                  // IWYU pragma: export
