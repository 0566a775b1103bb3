// SPDX-License-Identifier: Apache-2.0
// A Checkpoint saves the state of a run in one file. It has the model, the
// optimizer, the schedule, the sampler's position, and the random number
// generators of every rank. A resumed run gets the same weights, bit by bit, as
// a run without a stop.
//
//   Checkpoint checkpoint({model, optimizer, schedule, sampler}, settings);
//   checkpoint.check_writable(path);
//   if (resumes) checkpoint.load(path);
//   ...
//   checkpoint.save(path);               // Now and then, by all ranks.
//
// The parts outlive this object. Not thread-safe.
#pragma once

#include <map>
#include <string>

#include <horovodpp/horovodpp.h>

class Checkpoint {
 public:
  struct Parts {
    hvd::nn::Module& model;
    hvd::optim::Optimizer& optimizer;
    hvd::optim::LRScheduler& schedule;
    hvd::data::DistributedSampler& sampler;
  };
  // Other settings that the weights depend on, in the user's form: "batch-size"
  // -> "64".
  using Settings = std::map<std::string, std::string>;

  Checkpoint(const Parts& parts, Settings settings);

  // Throws, on all ranks, if a file of that name cannot be created: before
  // hours of training, not after. Every rank calls it.
  static void check_writable(const std::string& path);

  // Every rank calls it after the same step; rank 0 writes its model,
  // atomically (see AtomicFile). When a rank returns, the file is on the disk.
  //   hvd::Error  on all ranks: the file cannot be written, or a collective
  //               failed
  void save(const std::string& path) const;

  // Every rank reads the file and continues from there.
  //   hvd::Error, InvalidArgument  the file is missing, damaged, or of another
  //                                run: names the setting that differs
  void load(const std::string& path) const;

 private:
  void write(const std::string& path, const hvd::Tensor& generators) const;
  void check_settings(const std::string& path,
                      const std::map<std::string, std::string>& found) const;

  const Parts parts_;
  const Settings settings_;
};
