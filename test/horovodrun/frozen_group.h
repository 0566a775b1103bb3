// SPDX-License-Identifier: Apache-2.0
// Processes and threads that SIGKILL does not end: the members of a frozen
// version 1 control group. They end when the group is thawed.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace hvd::launcher {

inline constexpr char kNoFreezer[] =
    "no permission to make a group in /sys/fs/cgroup/freezer";

class FrozenGroup {
 public:
  FrozenGroup()
      : path_("/sys/fs/cgroup/freezer/horovodrun_test." +
              std::to_string(getpid())),
        exists_(mkdir(path_.c_str(), 0755) == 0) {}
  ~FrozenGroup() {
    if (!exists_) return;
    set("THAWED");
    // Retries until the members, which SIGKILL now reaches, have ended.
    while (rmdir(path_.c_str()) != 0 && has_members()) usleep(1000);
  }
  FrozenGroup(const FrozenGroup&) = delete;
  FrozenGroup& operator=(const FrozenGroup&) = delete;

  bool exists() const { return exists_; }
  const std::string& path() const { return path_; }

  // Both return once the group is frozen.
  void freeze_process(pid_t pid) { freeze("cgroup.procs", pid); }
  void freeze_thread(pid_t thread) { freeze("tasks", thread); }

 private:
  void freeze(const std::string& list, pid_t id) {
    std::ofstream(path_ + "/" + list) << id << std::flush;
    set("FROZEN");
    while (state() == "FREEZING") usleep(1000);
  }
  void set(const std::string& state) {
    std::ofstream(path_ + "/freezer.state") << state << std::flush;
  }
  std::string state() const {
    std::string state;
    std::ifstream(path_ + "/freezer.state") >> state;
    return state;
  }
  bool has_members() const {
    std::string member;
    return static_cast<bool>(std::ifstream(path_ + "/tasks") >> member);
  }

  const std::string path_;
  const bool exists_;
};

}  // namespace hvd::launcher
