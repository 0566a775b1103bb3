// SPDX-License-Identifier: Apache-2.0
// The command line of horovodrun as a value.
//
//   auto read = parse_arguments({"-np", "2", "./train", "--lr", "0.1"}, {});
//   read->command;   // {"./train", "--lr", "0.1"}
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodrun/command_line/hosts.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

struct Arguments {
  int ranks = 0;
  std::vector<Host> hosts;  // As filled by `ranks`; empty: this host.
  // How ranks find each other: by MPI, by themselves, or as fits.
  enum class Way { kAsFits, kMpi, kLocal };
  Way way = Way::kAsFits;
  bool verbose = false;
  std::chrono::milliseconds start_timeout{30000};
  std::vector<std::string> mpi_arguments;
  std::string output_filename;                  // Empty: not asked for.
  std::vector<std::string> network_interfaces;  // Empty: mpirun chooses.
  std::vector<std::string> command;             // The program first.
  // What options say to the ranks, which beats what they would inherit.
  Environment settings;
  std::string answer;  // Not empty: print this (help, version) and be done.
};

// Reads what follows the program's name. Everything from the first word that is
// not an option on belongs to the command, its own options included.
// `environment` supplies HOROVOD_START_TIMEOUT; a --hostfile is read here.
//   InvalidArgument   with a text for the user
absl::StatusOr<Arguments> parse_arguments(const std::vector<std::string>& words,
                                          const Environment& environment);

// `text` as words the way a shell would split it: blanks separate, quotes and
// backslashes keep together.
//   InvalidArgument   a quote is not closed
absl::StatusOr<std::vector<std::string>> split_words(const std::string& text);

}  // namespace hvd::launcher
