// SPDX-License-Identifier: Apache-2.0
// The autograd half of Horovod++ in one include: tensors, the operations on
// tensors, and their gradients.
//
//   hvd::Tensor w = hvd::randn({10, 784}, {.requires_grad = true});
//   hvd::Tensor loss = hvd::cross_entropy(hvd::linear(images, w), labels);
//   loss.backward();
//   {
//     hvd::NoGrad no_grad;
//     w.add_(w.grad(), -0.1);
//   }
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include "horovodpp/autograd/dot.h"              // IWYU pragma: export
#include "horovodpp/autograd/engine.h"           // IWYU pragma: export
#include "horovodpp/autograd/graph/error.h"      // IWYU pragma: export
#include "horovodpp/autograd/record/autocast.h"  // IWYU pragma: export
#include "horovodpp/autograd/record/function.h"  // IWYU pragma: export
#include "horovodpp/ops.h"                       // IWYU pragma: export
#include "horovodpp/ops/indices/index_ops.h"     // IWYU pragma: export
#include "horovodpp/tensor/base/generator.h"     // IWYU pragma: export
#include "horovodpp/tensor/base/thread_state.h"  // IWYU pragma: export
#include "horovodpp/tensor/factories.h"          // IWYU pragma: export
#include "horovodpp/tensor/tensor.h"             // IWYU pragma: export
