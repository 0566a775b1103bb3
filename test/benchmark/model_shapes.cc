// SPDX-License-Identifier: Apache-2.0
#include "test/benchmark/model_shapes.h"

#include <cstdint>

namespace hvd::benchmark {
namespace {

// A convolution without bias, and the batch norm that follows.
void add_convolution(std::int64_t in, std::int64_t out, std::int64_t kernel,
                     std::vector<Shape>& shapes) {
  shapes.push_back({out, in, kernel, kernel});
  shapes.push_back({out});
  shapes.push_back({out});
}

}  // namespace

std::vector<Shape> resnet50_shapes() {
  struct Stage {
    std::int64_t width;
    int blocks;
  };
  constexpr std::int64_t kExpansion = 4;
  std::vector<Shape> shapes;
  add_convolution(3, 64, 7, shapes);
  std::int64_t in = 64;
  for (const auto& [width, blocks] :
       {Stage{64, 3}, Stage{128, 4}, Stage{256, 6}, Stage{512, 3}}) {
    const std::int64_t out = kExpansion * width;
    for (int block = 0; block < blocks; ++block) {
      add_convolution(in, width, 1, shapes);
      add_convolution(width, width, 3, shapes);
      add_convolution(width, out, 1, shapes);
      if (block == 0) add_convolution(in, out, 1, shapes);  // The shortcut.
      in = out;
    }
  }
  shapes.push_back({1000, in});
  shapes.push_back({1000});
  return shapes;
}

std::vector<Shape> gpt2_small_shapes() {
  constexpr std::int64_t kWords = 50257;
  constexpr std::int64_t kPositions = 1024;
  constexpr std::int64_t kWidth = 768;
  constexpr int kLayers = 12;
  std::vector<Shape> shapes = {{kWords, kWidth}, {kPositions, kWidth}};
  const auto add_norm = [&shapes] {
    shapes.push_back({kWidth});
    shapes.push_back({kWidth});
  };
  const auto add_linear = [&shapes](std::int64_t in, std::int64_t out) {
    shapes.push_back({in, out});
    shapes.push_back({out});
  };
  for (int layer = 0; layer < kLayers; ++layer) {
    add_norm();
    add_linear(kWidth, 3 * kWidth);  // Queries, keys and values.
    add_linear(kWidth, kWidth);
    add_norm();
    add_linear(kWidth, 4 * kWidth);
    add_linear(4 * kWidth, kWidth);
  }
  add_norm();
  return shapes;
}

}  // namespace hvd::benchmark
