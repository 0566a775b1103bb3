// SPDX-License-Identifier: Apache-2.0
// Shared by the programs of this folder: they set up one Work after the other,
// measure each, and write the results.
//
//   PROGRAM FOLDER SECONDS WORK...
//
// Each rank rewrites FOLDER/<rank>.json after each Work, so that results
// survive if a later Work hangs. The time of a Work's first run includes its
// setup. Later runs are timed one by one: every rank writes its input, then
// meets the others at a barrier. Runs of up to 4 KiB are timed together, back
// to back.
#pragma once

#include <memory>
#include <string>

#include "test/benchmark/peers/work.h"

namespace hvd::benchmark {

// A Work after its setup. Errors are thrown.
class Task {
 public:
  virtual ~Task() = default;
  // Fills the input with this rank's number plus one.
  virtual void refill() {}
  virtual void run() = 0;
  // Whether a few elements of the run after a refill() are right.
  virtual bool is_right() const { return true; }
};

// The measured library, as one rank sees it.
class Side {
 public:
  virtual ~Side() = default;
  virtual int rank() const = 0;
  virtual void barrier() = 0;
  virtual double greatest(double of_this_rank) = 0;
  // nullptr if the library has no such operation. Collective.
  virtual std::unique_ptr<Task> make(const Work& work) = 0;
};

// Returns the exit code of the program. Without a Work it measures nothing.
int measure_all(Side& side, int argc, char** argv);

}  // namespace hvd::benchmark
