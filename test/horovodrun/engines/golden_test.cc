// SPDX-License-Identifier: Apache-2.0
// golden.txt has, for lines of options, the exact command of every engine and
// the variables that it adds to those of the first line. A changed command is a
// changed file:
//
//   HVD_WRITE_GOLDEN=1 horovodrun_test --gtest_filter='Golden.*'
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "horovodrun/command_line/arguments.h"
#include "horovodrun/command_line/words.h"
#include "horovodrun/engines/engine.h"
#include "horovodrun/engines/mpirun/command.h"
#include "horovodrun/engines/srun/command.h"
#include "horovodrun/system/process.h"

namespace hvd::launcher {
namespace {

constexpr char kFile[] = HVD_SOURCE "/test/horovodrun/engines/golden.txt";

const LaunchContext kContext = {
    .agent = "/opt/bin/horovodrun",
    .token = "cafe",
    .host_name = "here",
    .has_loopback = true,
    .environment = {{"OMPI_MCA_plm_rsh_agent", "/bin/sh"},
                    {"PATH", "/bin:/usr/bin"}}};

using Planner = std::function<absl::StatusOr<StartPlan>(const Arguments&)>;

Planner by_mpirun(MpiFlavor flavor) {
  return [flavor](const Arguments& arguments) {
    return mpirun_plan(flavor, arguments, kContext);
  };
}

const std::vector<std::pair<std::string, Planner>> kPlanners = {
    {"openmpi4", by_mpirun(MpiFlavor::kOpenMpi4)},
    {"openmpi5", by_mpirun(MpiFlavor::kOpenMpi5)},
    {"mpich", by_mpirun(MpiFlavor::kMpich)},
    {"intel", by_mpirun(MpiFlavor::kIntel)},
    {"srun",
     [](Arguments arguments) {
       if (arguments.hosts.empty()) {
         arguments.hosts = {{"localhost", arguments.ranks}};
       }
       return srun_plan(arguments, kContext, 71, "pmix");
     }},
    {"direct", [](Arguments arguments) {
       arguments.engine = "direct";
       return plan_start(arguments, kContext);
     }}};

// The variables of each engine that the first line of options brings.
using Known = std::vector<Environment>;

std::string text_of(const absl::StatusOr<StartPlan>& plan,
                    const Environment& known) {
  if (!plan.ok()) return absl::StrCat("refused: ", plan.status().message());
  std::string text = shell_quoted(plan->argv);
  for (const auto& [name, value] : plan->added) {
    const auto found = known.find(name);
    if (found != known.end() && found->second == value) continue;
    absl::StrAppend(&text, "\n    + ", name, "=", value);
  }
  for (const auto& [name, value] : known) {
    if (!plan->added.contains(name)) absl::StrAppend(&text, "\n    - ", name);
  }
  return text;
}

// The text for the options, after `horovodrun`, of a line.
std::string block_of(const std::string& options, Known& known) {
  std::string text = absl::StrCat("# ", options, "\n");
  const auto words = split_words(options, "line");
  const auto arguments = parse_arguments(*words, kContext.environment);
  if (!arguments.ok()) {
    return absl::StrCat(text, arguments.status().message(), "\n");
  }
  const bool is_first = known.empty();
  for (std::size_t i = 0; i < kPlanners.size(); ++i) {
    const auto& [name, planner] = kPlanners[i];
    const auto plan = planner(*arguments);
    if (is_first) known.emplace_back();
    absl::StrAppend(&text, name, ": ", text_of(plan, known[i]), "\n");
    if (is_first && plan.ok()) known[i] = plan->added;
  }
  return text;
}

std::string read_golden() {
  std::ifstream file(kFile);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Golden, CommandsAreThose) {
  const std::string golden = read_golden();
  std::string seen;
  Known known;
  for (const absl::string_view line : absl::StrSplit(golden, '\n')) {
    if (line.substr(0, 2) != "# ") continue;
    absl::StrAppend(&seen, seen.empty() ? "" : "\n",
                    block_of(std::string(line.substr(2)), known));
  }
  EXPECT_GT(std::count(seen.begin(), seen.end(), '#'), 10);
  if (std::getenv("HVD_WRITE_GOLDEN") != nullptr) {
    std::ofstream(kFile) << seen;
  }
  EXPECT_EQ(seen, golden);
}

}  // namespace
}  // namespace hvd::launcher
