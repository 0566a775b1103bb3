// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/reduction/compression_advice.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/warning.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/future.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::optim {
void warn_if_useless(const compression::Compressor& compressor, int ranks,
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
  // The time that the link takes for the bytes saved.
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

double measure_link(const replica::GradientReducer& reducer) {
  constexpr int kRounds = 4;  // The first round agrees on the name.
  constexpr std::int64_t kElements = (1 << 20) / sizeof(float);
  const replica::ReducerOptions& options = reducer.options();
  const auto job = value_or_throw(reducer.job());
  std::vector<float> numbers(kElements);
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    throw_if_error(
        job->allreduce_async_(TensorView::of(numbers.data(), {kElements}),
                              {.name = options.name + ".(link)",
                               .op = ReduceOp::kSum,
                               .process_set = options.process_set})
            .wait());
    const std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
  }
  return best / static_cast<double>(numbers.size() * sizeof(float));
}

void warn_if_slower(const replica::GradientReducer& reducer) {
  const compression::Compressor& compressor = *reducer.options().compressor;
  const compression::CompressionStats stats = compressor.stats();
  {
    const auto job = value_or_throw(reducer.job());
    const Topology& topology = job->topology();
    const bool spans_nodes = topology.local_size() < topology.size();
    if (reducer.num_ranks() < 2 || !spans_nodes) return;
  }
  if (stats.gradient_bytes == 0) return;
  const std::optional<std::string> text =
      advice(compressor.name(),
             {.ranks = reducer.num_ranks(),
              .plain_seconds = measure_link(reducer),
              .start_seconds = static_cast<double>(stats.start_nanoseconds) *
                               1e-9 / static_cast<double>(stats.gradient_bytes),
              .traffic = compressor.traffic(reducer.num_ranks())});
  if (text) autograd::warn_once("compression.link", *text);
}

}  // namespace hvd::optim
