// SPDX-License-Identifier: Apache-2.0
// What the programs of this folder have in common: they set up one Work after
// the other, measure each, and write what they found.
//
//   PROGRAM FOLDER SECONDS WORK...
//
// Each rank writes FOLDER/<rank>.json anew after each Work, so that what was
// measured is there even if a later one does not end. The time of a Work's first
// run contains its setting up. Those that follow are timed one by one: every rank
// writes its input, then comes a barrier. Up to 4 KiB many are timed together,
// back to back.
#pragma once

#include <memory>
#include <string>

#include "test/benchmark/peers/work.h"

namespace hvd::benchmark {

// A Work, set up. Errors are thrown.
class Task {
 public:
  virtual ~Task() = default;
  // Writes this rank's input: its number plus one, everywhere.
  virtual void refill() {}
  virtual void run() = 0;
  // Whether the run after a refill() was right, as far as a few elements tell.
  virtual bool is_right() const { return true; }
};

// What is measured: a library, as one rank sees it.
class Side {
 public:
  virtual ~Side() = default;
  virtual int rank() const = 0;
  virtual void barrier() = 0;
  virtual double greatest(double of_this_rank) = 0;
  // Null where the library has nothing like it. Collective.
  virtual std::unique_ptr<Task> make(const Work& work) = 0;
};

// The exit code of the program. Without a Work it measures nothing.
int measure_all(Side& side, int argc, char** argv);

}  // namespace hvd::benchmark
