// SPDX-License-Identifier: Apache-2.0
// A ProgressBar is a line on the terminal that shows the progress of an epoch.
// If standard output is no terminal, only the finished line appears:
//   epoch 1/5 [=========>          ]  48%  31204 images/s  tensors 57 MiB  loss 0.5312
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

struct ProgressOptions {
  std::string label;
  std::int64_t total = 1;  // Steps of the epoch.
  std::int64_t first = 0;  // Steps done before.
  std::int64_t units_per_step = 1;
  std::string unit = "images";
  bool visible = true;
};

class ProgressBar {
 public:
  // Draws nothing if not visible.
  explicit ProgressBar(ProgressOptions options);

  // `done` is the number of finished steps, `loss` the current loss, `memory`
  // the tensors' peak memory in MiB. Redraws a few times a second on a terminal.
  void show(std::int64_t done, double loss, double memory);

  // Redraws and ends the line.
  void finish(double loss, double memory);

 private:
  void draw(std::int64_t done, double loss, double memory);

  const ProgressOptions options_;
  const bool redraws_;
  const std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point drawn_;
};
