// The Fashion-MNIST data set (Xiao, Rasul and Vollgraf 2017): 28×28 grey images
// of clothing in ten classes, and the order in which the ranks of a job read
// it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <horovodpp/horovodpp.h>

class FashionMnist {
 public:
  static constexpr std::int64_t kPixels = 28 * 28;

  struct Batch {
    // float32[n, 784], of mean 0 and deviation 1 over the data set.
    hvd::Tensor images;
    hvd::Tensor labels;  // int64[n]
  };

  // Reads "<directory>/<split>-images-idx3-ubyte.gz" and
  // "-labels-idx1-ubyte.gz", for split "train" or "t10k"; with `limit` above 0
  // the first so many images only.
  //   std::runtime_error  a file is missing or damaged; names it and the
  //                       package that has it
  FashionMnist(const std::string& directory, const std::string& split,
               std::int64_t limit);

  std::int64_t size() const {
    return static_cast<std::int64_t>(labels_.size());
  }

  // The images at these positions.
  Batch batch(const std::vector<std::int64_t>& positions) const;

 private:
  std::vector<std::uint8_t> images_;
  std::vector<std::uint8_t> labels_;
};

// 0 … size-1 in an order that depends on seed and epoch only.
std::vector<std::int64_t> shuffled(std::int64_t size, std::uint64_t seed,
                                   int epoch);

// What `rank` of `ranks` reads of [first, first + count) of `order`: one
// contiguous part each, so that all ranks together read the same whatever their
// number.
std::vector<std::int64_t> share(const std::vector<std::int64_t>& order,
                                std::int64_t first, std::int64_t count,
                                int rank, int ranks);
