// SPDX-License-Identifier: Apache-2.0
// The names of a job's timelines before they are merged: rank 0 writes "t.json",
// and the others write "t.json.rank1", ....
#pragma once

#include <map>
#include <string>

namespace hvd::launcher {

// "<path>.rank<rank>"; also of rank 0, for a file that was fetched.
std::string part_name(const std::string& path, int rank);

// The files beside `path` that have such names, by rank.
std::map<int, std::string> parts_beside(const std::string& path);

}  // namespace hvd::launcher
