// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/command_line/ranks_of_host.h"

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace hvd::launcher {
namespace {

constexpr int kMaxRanksOfHost = 1 << 20;

}  // namespace

absl::StatusOr<int> ranks_of_host(const std::string& text,
                                  const Processors& processors) {
  if (text == "cpu") return processors.cores;
  if (text == "auto") {
    return processors.gpus > 0 ? processors.gpus : processors.cores;
  }
  if (text == "gpu") {
    if (processors.gpus > 0) return processors.gpus;
    return absl::InvalidArgumentError(
        "--nproc-per-node is 'gpu', but CUDA finds no GPU on this host; give a "
        "number, or cpu");
  }
  int ranks = 0;
  if (absl::SimpleAtoi(text, &ranks) && ranks >= 1 &&
      ranks <= kMaxRanksOfHost) {
    return ranks;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--nproc-per-node is '", text,
                   "'; give a number of at least 1, auto, gpu or cpu"));
}

}  // namespace hvd::launcher
