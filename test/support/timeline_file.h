// SPDX-License-Identifier: Apache-2.0
// Reads a timeline's file and checks its form: valid JSON, and spans that nest
// in each lane.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

namespace hvd {

struct TimelineFile {
  nlohmann::json events = nlohmann::json::array();
  std::map<int, std::string> names;                         // By "process".
  std::map<std::string, std::vector<std::string>> threads;  // With names.
  // Of each label: "B NEGOTIATE_ALLREDUCE", …
  std::map<std::string, std::vector<std::string>> spans;
  std::map<std::string, std::vector<nlohmann::json>> marks;  // By name.
  nlohmann::json lost;  // The count in lost_events, once the file is closed.
};

inline TimelineFile read_timeline(const std::string& path,
                                  bool is_closed = true) {
  TimelineFile file;
  std::ifstream in(path);
  file.events = nlohmann::json::parse(in, nullptr, false);
  EXPECT_TRUE(file.events.is_array()) << path;
  using Lane = std::pair<int, int>;
  std::map<Lane, std::vector<std::string>> open;
  std::map<Lane, double> last;
  for (const nlohmann::json& event : file.events) {
    const std::string name = event["name"];
    const std::string phase = event["ph"];
    const int pid = event["pid"];
    if (name == "process_name") file.names[pid] = event["args"]["name"];
    if (name == "thread_name") {
      file.threads[file.names[pid]].push_back(event["args"]["name"]);
    }
    if (name == "lost_events") file.lost = event["args"]["count"];
    if (phase == "i") file.marks[name].push_back(event);
    if (phase != "B" && phase != "E") continue;
    EXPECT_TRUE(file.names.contains(pid)) << event;
    const Lane lane = {pid, event.value("tid", 0)};
    const double at = event["ts"];
    EXPECT_GE(at, last[lane]) << event;
    last[lane] = at;
    file.spans[file.names[pid]].push_back(phase + " " + name);
    if (phase == "B") {
      open[lane].push_back(name);
      continue;
    }
    EXPECT_TRUE(!open[lane].empty() && open[lane].back() == name) << event;
    if (!open[lane].empty()) open[lane].pop_back();
  }
  EXPECT_EQ(file.lost.is_number(), is_closed);
  return file;
}

}  // namespace hvd
