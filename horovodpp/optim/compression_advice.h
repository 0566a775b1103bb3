// SPDX-License-Identifier: Apache-2.0
// Whether compression can pay: by what it sends, and by the link that was measured.
#pragma once

#include <optional>
#include <string>

#include "horovodpp/compression/compressor.h"
#include "horovodpp/core/topology.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/runtime/settings/process_set.h"

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

// The seconds that an allreduce of float32 takes for each byte on this link: the best
// of a few of a MiB. All ranks of the set call it.
//   hvd::Error  an allreduce failed
double measure_link(Runtime& job, const ProcessSet& process_set,
                    const std::string& name);

}  // namespace hvd::optim
