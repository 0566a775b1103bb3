// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <numeric>
#include <span>

#include "horovodpp/kernel/products/convolution.h"

namespace hvd::autograd {
namespace {

enum class Border { kBefore, kAfter };

// Ones beside inaccessible memory: reading or writing out of bounds ends the
// program.
class Fenced {
 public:
  Fenced(std::int64_t count, Border border)
      : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
    const std::size_t inside = (bytes + page_ - 1) / page_ * page_;
    bytes_ = inside + 2 * fence();
    start_ =
        mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start_ == MAP_FAILED) throw std::bad_alloc();
    std::byte* first = static_cast<std::byte*>(start_) + fence();
    if (mprotect(first, inside, PROT_READ | PROT_WRITE) != 0) {
      munmap(start_, bytes_);
      throw std::bad_alloc();
    }
    if (border == Border::kAfter) first += inside - bytes;
    elements_ = {reinterpret_cast<float*>(first),
                 static_cast<std::size_t>(count)};
    for (float& element : elements_) element = 1.0f;
  }
  ~Fenced() { munmap(start_, bytes_); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;

  std::span<float> elements() const { return elements_; }

 private:
  std::size_t fence() const { return 16 * page_; }

  std::size_t page_;
  std::size_t bytes_ = 0;
  void* start_ = nullptr;
  std::span<float> elements_;
};

// Of ones, so that each result is a number of products.
void convolve_within_fences(const ConvShape& s, ConvPass pass, Border border) {
  const Fenced x(s.n * s.image.product() * s.in, border);
  const Fenced weight(s.out * s.in, border);
  const Fenced y(s.n * s.result.product() * s.out, border);
  const ConvBuffers buffers{.x = x.elements().data(),
                            .weight = weight.elements().data(),
                            .y = y.elements().data()};
  if (!convolve_with_dnnl(pass, s, DType::kF32, buffers)) {
    convolve_by_products(pass, s, DType::kF32, buffers);
  }
  const auto sum = [](const Fenced& memory) {
    const auto all = memory.elements();
    return std::accumulate(all.begin(), all.end(), 0.0);
  };
  const auto products =
      static_cast<double>(s.n * s.result.product() * s.in * s.out);
  const Fenced& result = pass == ConvPass::kForward        ? y
                         : pass == ConvPass::kBackwardData ? x
                                                           : weight;
  EXPECT_EQ(sum(result), products);
}

// oneDNN 2.6 left its memory in gradients of weights, and computed wrong ones.
TEST(DnnlConvolution, OfSinglePixelsStaysWithinItsMemory) {
  for (const std::int64_t stride : {1, 2}) {
    for (const std::int64_t in : {1, 2, 3, 4, 12, 16}) {
      for (const std::int64_t out : {2, 5, 8}) {
        const std::int64_t after = 7 / stride + 1;
        const ConvShape shape{.n = 2,
                              .in = in,
                              .out = out,
                              .image = {1, 8, 8},
                              .result = {1, after, after},
                              .kernel = 1,
                              .options = {.stride = {1, stride, stride}}};
        SCOPED_TRACE(testing::Message()
                     << in << " to " << out << " channels, every " << stride);
        for (const auto pass : {ConvPass::kForward, ConvPass::kBackwardData,
                                ConvPass::kBackwardWeights}) {
          convolve_within_fences(shape, pass, Border::kBefore);
          convolve_within_fences(shape, pass, Border::kAfter);
        }
      }
    }
  }
}

}  // namespace
}  // namespace hvd::autograd
