// SPDX-License-Identifier: Apache-2.0
// Environment is a set of environment variables as a value: what the ranks get
// is computed from one and never by changing this process' own.
//
//   Environment environment = current_environment();
//   environment["HOROVOD_SIZE"] = "4";
#pragma once

#include <map>
#include <string>
#include <vector>

namespace hvd::launcher {

using Environment = std::map<std::string, std::string>;

// A copy of this process' environment.
Environment current_environment();

// Of a rank of a job: without what says so, so that it can start a job of its
// own, which mpirun would refuse. Any other environment as it is.
Environment outside_of_jobs(const Environment& environment);

// "NAME=value", one for each variable, in the order of the names.
std::vector<std::string> to_strings(const Environment& environment);

// Where the environment's PATH has the program, or `program` itself if that is a path;
// "" if nothing there can be run.
std::string find_program(const std::string& program,
                         const Environment& environment);

// The names a rank on another host should get, sorted. Left out is what
// describes one host, one shell or one MPI daemon, and what mpirun cannot
// carry.
std::vector<std::string> exportable_names(const Environment& environment);

}  // namespace hvd::launcher
