// A line on the terminal that shows how far an epoch is:
//   epoch 1/5 [=========>          ]  48%  31204 images/s  loss 0.5312
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

class ProgressBar {
 public:
  // Draws `total` steps of `images_per_step`; nothing if not `visible`.
  ProgressBar(std::string label, std::int64_t total,
              std::int64_t images_per_step, bool visible);

  // `done` steps are done; the loss as it stands. Redraws a few times a second.
  void show(std::int64_t done, double loss);

  // Redraws and ends the line.
  void finish(double loss);

 private:
  void draw(std::int64_t done, double loss);

  const std::string label_;
  const std::int64_t total_;
  const std::int64_t images_per_step_;
  const bool visible_;
  const std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point drawn_;
};
