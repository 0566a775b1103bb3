// SPDX-License-Identifier: Apache-2.0
// Warnings about compression that cannot pay, given the bytes that it sends and
// the measured speed of the link.
#pragma once

#include <optional>
#include <string>

#include "horovodpp/compression/compressor.h"
#include "horovodpp/core/job/topology.h"
#include "horovodpp/replica/gradient_reducer.h"

namespace hvd::optim {

// Warns once if the facts known before a step show that compression cannot pay.
void warn_if_useless(const compression::Compressor& compressor, int ranks,
                     const Topology& topology);

struct LinkFindings {
  int ranks = 1;
  // Seconds of an allreduce for each byte of gradients.
  double plain_seconds = 0.0;
  // Seconds of compression alone, without decompression, for each byte.
  double start_seconds = 0.0;
  double traffic = 0.0;  // See Compressor::traffic().
};

// The text of a warning if compressing takes longer than the whole allreduce,
// or than sending the bytes that it saves. Returns nullopt if it may pay.
std::optional<std::string> advice(const std::string& compressor,
                                  const LinkFindings& found);

// Measures the seconds that an allreduce of float32 takes for each byte among
// the reducer's ranks: the best of a few runs of a MiB. All these ranks call
// it.
//   hvd::Error  an allreduce failed
double measure_link(const replica::GradientReducer& reducer);

// Warns once if compression cannot pay between several hosts, given its time so
// far and the speed of the link. Measures the link by a few allreduces of a
// MiB. All the reducer's ranks call it.
//   hvd::Error  an allreduce failed
void warn_if_slower(const replica::GradientReducer& reducer);

}  // namespace hvd::optim
