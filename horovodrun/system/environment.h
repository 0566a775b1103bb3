// SPDX-License-Identifier: Apache-2.0
// Environment is a set of environment variables as a value. Ranks' environments
// are computed from one, and this process's own is never changed.
//
//   Environment environment = current_environment();
//   environment["HOROVOD_SIZE"] = "4";
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace hvd::launcher {

using Environment = std::map<std::string, std::string>;

// A copy of this process's environment.
Environment current_environment();

// The value of the variable; "": not set.
std::string value_in(const Environment& environment, const char* name);

// The number in the first of these variables that has one.
int number_in(const Environment& environment,
              std::initializer_list<const char*> names, int fallback);

// "NAME=value", one for each variable, in the order of the names.
std::vector<std::string> to_strings(const Environment& environment);

// The path of the program by the environment's PATH, or `program` itself if
// that is a path; "" if there is no executable.
std::string find_program(const std::string& program,
                         const Environment& environment);

// The names of variables that a rank on another host should get, sorted.
// Excludes variables that describe one host, one shell or one MPI daemon, and
// those that mpirun cannot pass.
std::vector<std::string> exportable_names(const Environment& environment);

}  // namespace hvd::launcher
