// SPDX-License-Identifier: Apache-2.0
// A PathFit models how long a batch takes on one path, such as the shared
// memory of a node or the connections between nodes:
//
//   seconds = start + per_tensor * tensors + per_byte * bytes
//
// Planes use other algorithms for other sizes, so the times of measured sizes
// correct this line. The fit follows measured batches. It keeps the last few of
// each size, so that it forgets an earlier state of the machine. Slow outliers
// hardly count.
//
// Pure: no thread, no clock, no I/O.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace hvd::coordinator {

// The data of a batch.
struct BatchLoad {
  double bytes = 0;
  double tensors = 0;
};

// The coefficients, in seconds; none is negative.
struct PathLine {
  double start = 20e-6;
  double per_tensor = 2e-7;
  double per_byte = 1e-10;

  double seconds(const BatchLoad& load) const {
    return start + per_tensor * load.tensors + per_byte * load.bytes;
  }
  friend bool operator==(const PathLine&, const PathLine&) = default;
};

// A line with the corrections of a fit. Times never fall with the bytes.
class PathCurve {
 public:
  PathCurve(const PathLine& line = {}) : line_(line) {}

  double seconds(const BatchLoad& load) const;

 private:
  friend class PathFit;
  double estimate(const BatchLoad& load) const;

  struct Knot {
    double bytes = 0;
    double seconds = 0;  // Without what tensors cost.
    double weight = 0;
  };
  PathLine line_;
  std::vector<Knot> knots_ = {};  // By bytes. None: the line is right.
};

class PathFit {
 public:
  // `prior` decides as far as measured batches do not.
  explicit PathFit(const PathLine& prior = {}) : prior_(prior), line_(prior) {}

  // A batch took `seconds`. Ignores what cannot be a measurement.
  void add(const BatchLoad& load, double seconds);

  const PathLine& line() const;
  PathCurve curve() const;
  std::size_t batches() const { return batches_; }

 private:
  struct Sample {
    BatchLoad load;
    double seconds = 0;
  };
  // The last batches whose sizes have the same number of binary digits.
  struct SizeClass {
    std::vector<Sample> last;
    std::size_t next = 0;  // The oldest, once there are enough.
  };

  Sample median_of(const SizeClass& sizes) const;

  const PathLine prior_;
  std::array<SizeClass, 64> classes_;
  std::size_t batches_ = 0;
  mutable bool is_current_ = true;
  mutable PathLine line_;
};

}  // namespace hvd::coordinator
