#include "progress_bar.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace {

constexpr int kWidth = 24;
constexpr std::chrono::milliseconds kRedraw(200);

}  // namespace

ProgressBar::ProgressBar(std::string label, std::int64_t total,
                         std::int64_t images_per_step, bool visible)
    : label_(std::move(label)),
      total_(std::max<std::int64_t>(total, 1)),
      images_per_step_(images_per_step),
      visible_(visible),
      begin_(std::chrono::steady_clock::now()),
      drawn_(begin_) {}

void ProgressBar::show(std::int64_t done, double loss) {
  const auto now = std::chrono::steady_clock::now();
  if (!visible_ || now - drawn_ < kRedraw) return;
  drawn_ = now;
  draw(done, loss);
}

void ProgressBar::finish(double loss) {
  if (!visible_) return;
  draw(total_, loss);
  std::printf("\n");
  std::fflush(stdout);
}

void ProgressBar::draw(std::int64_t done, double loss) {
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - begin_;
  const double rate = static_cast<double>(done * images_per_step_) /
                      std::max(seconds.count(), 1e-9);
  const int filled = static_cast<int>(kWidth * done / total_);
  std::string bar(static_cast<std::size_t>(kWidth), ' ');
  std::fill_n(bar.begin(), filled, '=');
  if (filled < kWidth) bar[static_cast<std::size_t>(filled)] = '>';
  std::printf("\r%s [%s] %3d%%  %.0f images/s  loss %.4f", label_.c_str(),
              bar.c_str(), static_cast<int>(100 * done / total_), rate, loss);
  std::fflush(stdout);
}
