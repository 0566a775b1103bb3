// SPDX-License-Identifier: Apache-2.0
// Whether compression can pay: by what it sends, and by the link that was measured.
#pragma once

#include <optional>
#include <string>

#include "horovodpp/compression/compressor.h"
#include "horovodpp/core/topology.h"
#include "horovodpp/replica/gradient_reducer.h"

namespace hvd::optim {

// Warns, once, where what is known before a step says that it cannot.
void warn_if_in_vain(const compression::Compressor& compressor, int ranks,
                     const Topology& topology);

struct LinkFindings {
  int ranks = 1;
  // Of an allreduce: seconds for each byte of gradients.
  double plain_seconds = 0.0;
  // Of compression alone, without what it takes to undo it: likewise.
  double start_seconds = 0.0;
  double traffic = 0.0;  // See Compressor::traffic().
};

// What to warn of: that compressing takes longer than the whole allreduce, or than
// the bytes that it saves. Nothing where it may pay.
std::optional<std::string> advice(const std::string& compressor,
                                  const LinkFindings& found);

// The seconds that an allreduce of float32 takes for each byte among the reducer's
// ranks: the best of a few of a MiB. All of them call it.
//   hvd::Error  an allreduce failed
double measure_link(const replica::GradientReducer& reducer);

// Warns, once, where the reducer's ranks are on several hosts and what its compressor
// has taken so far says, beside the speed of the link, that it cannot pay. Measures
// the link, by a few allreduces of a MiB. All its ranks call it.
//   hvd::Error  an allreduce failed
void warn_if_it_cannot_pay(const replica::GradientReducer& reducer);

}  // namespace hvd::optim
