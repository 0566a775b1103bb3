// SPDX-License-Identifier: Apache-2.0
// verify() makes a dry step of a training on all ranks, and reports what would
// go wrong later, and what a step communicates:
//
//   const auto report = hvd::verify(model, [&] { return loss_of(model, batch); });
//   if (hvd::rank() == 0) std::puts(report.text().c_str());
//   if (!report.ok()) return 1;
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <functional>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/replica/dry_step.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
class Runtime;
}

namespace HVD_EXPORT hvd {
namespace optim {

// Computes the loss and its gradients twice, with the same random numbers, and
// compares names, shapes, dtypes, values, gradients and their order between the
// ranks. Every rank calls it; the report is the same on all.
//
// `loss` returns the loss of a batch of this rank, of one element. The step
// changes no parameter, gradient, buffer or generator, and calls no hook of an
// optimizer. A loss that calls collectives may stand in verify(), if all ranks
// call them.
//
// `runtime`: the job; by default the current one.
//   hvd::Error  there is no job, or it is broken; and any error of `loss`
replica::DryStepReport verify(nn::Module& model,
                              const std::function<Tensor()>& loss,
                              Runtime* runtime = nullptr);

// The same for a model of one input; the loss is the mean of its output.
replica::DryStepReport verify(nn::Module& model, const Tensor& batch,
                              Runtime* runtime = nullptr);

}  // namespace optim
}  // namespace hvd

namespace HVD_EXPORT hvd {
using optim::verify;
}  // namespace hvd
