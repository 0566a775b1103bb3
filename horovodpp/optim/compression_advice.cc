// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/compression_advice.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/warning.h"
#include "horovodpp/core/future.h"
#include "horovodpp/core/status.h"

namespace hvd::optim {

void warn_if_in_vain(const compression::Compressor& compressor, int ranks,
                     const Topology& topology) {
  if (ranks < 2) return;
  const double plain = compression::plain_traffic(ranks);
  const double traffic = compressor.traffic(ranks);
  if (traffic >= plain) {
    autograd::warn_once(
        absl::StrCat("compression.", compressor.name()),
        absl::StrCat("compression '", compressor.name(), "' among ", ranks,
                     " ranks brings ", traffic,
                     " bytes to each rank for every byte of gradients, where "
                     "an allreduce brings ",
                     plain, "; it cannot pay, see docs/compression.md"));
  } else if (topology.local_size() == topology.size()) {
    autograd::warn_once(
        "compression.node",
        absl::StrCat("compression '", compressor.name(),
                     "' in a job of one node, whose ranks reduce gradients in "
                     "its memory: it takes longer than it saves, see "
                     "docs/compression.md"));
  }
}

std::optional<std::string> advice(const std::string& compressor,
                                  const LinkFindings& found) {
  const double plain = compression::plain_traffic(found.ranks);
  // What is sent less, in the time that the link takes for it.
  const double saved =
      found.plain_seconds * std::max(0.0, 1.0 - found.traffic / plain);
  if (found.start_seconds < saved) return std::nullopt;
  const auto microseconds = [](double seconds_per_byte) {
    return seconds_per_byte * (1 << 20) * 1e6;
  };
  return absl::StrCat(
      "compression '", compressor, "': a MiB of gradients takes ",
      microseconds(found.plain_seconds),
      " us to reduce on this link, of which it saves at most ",
      microseconds(saved), ", and ", microseconds(found.start_seconds),
      " us to compress; it cannot pay, see docs/compression.md");
}

double measure_link(Runtime& job, const ProcessSet& process_set,
                    const std::string& name) {
  constexpr int kRounds = 4;  // The first of which agrees on the name.
  constexpr std::int64_t kElements = (1 << 20) / sizeof(float);
  std::vector<float> numbers(kElements);
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    throw_if_error(
        job.allreduce_async_(
               TensorView::of(numbers.data(), {kElements}),
               {.name = name, .op = ReduceOp::kSum, .process_set = process_set})
            .wait());
    const std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
  }
  return best / static_cast<double>(numbers.size() * sizeof(float));
}

}  // namespace hvd::optim
