// SPDX-License-Identifier: Apache-2.0
#include "progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace {

constexpr int kWidth = 24;
constexpr std::chrono::milliseconds kRedraw(200);

}  // namespace

ProgressBar::ProgressBar(ProgressOptions options)
    : options_(std::move(options)),
      redraws_(isatty(STDOUT_FILENO) != 0),
      begin_(std::chrono::steady_clock::now()),
      drawn_(begin_) {}

void ProgressBar::show(std::int64_t done, double loss, double memory) {
  const auto now = std::chrono::steady_clock::now();
  // finish() draws the last one.
  if (done >= options_.total) return;
  if (!options_.visible || !redraws_ || now - drawn_ < kRedraw) return;
  drawn_ = now;
  draw(done, loss, memory);
}

void ProgressBar::finish(double loss, double memory) {
  if (!options_.visible) return;
  draw(options_.total, loss, memory);
  std::printf("\n");
  std::fflush(stdout);
}

void ProgressBar::draw(std::int64_t done, double loss, double memory) {
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - begin_;
  const std::int64_t units = (done - options_.first) * options_.units_per_step;
  const double rate =
      static_cast<double>(units) / std::max(seconds.count(), 1e-9);
  const std::int64_t total = std::max<std::int64_t>(options_.total, 1);
  const int filled = static_cast<int>(kWidth * done / total);
  std::string bar(static_cast<std::size_t>(kWidth), ' ');
  std::fill_n(bar.begin(), filled, '=');
  if (filled < kWidth) bar[static_cast<std::size_t>(filled)] = '>';
  if (redraws_) std::printf("\r");
  std::printf("%s [%s] %3d%%  %.0f %s/s  tensors %.0f MiB  loss %.4f",
              options_.label.c_str(), bar.c_str(),
              static_cast<int>(100 * done / total), rate, options_.unit.c_str(),
              memory, loss);
  std::fflush(stdout);
}
