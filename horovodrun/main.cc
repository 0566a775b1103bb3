#include <unistd.h>

#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "horovodpp/core/status.h"
#include "horovodrun/agent.h"
#include "horovodrun/arguments.h"
#include "horovodrun/environment.h"
#include "horovodrun/job.h"
#include "horovodrun/mpi_flavor.h"
#include "horovodrun/mpirun_command.h"
#include "horovodrun/process.h"

namespace hvd::launcher {
namespace {

constexpr int kUsageError = 2;

std::string own_path() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<size_t>(size)) : "horovodrun";
}

std::string random_token() {
  std::random_device device;
  std::string token;
  for (int i = 0; i < 4; ++i) absl::StrAppendFormat(&token, "%08x", device());
  return token;
}

void print_plan(const MpirunCommand& command) {
  std::string text;
  for (const std::string& variable : to_strings(command.added)) {
    absl::StrAppend(&text, "horovodrun: ", variable, "\n");
  }
  absl::StrAppend(&text, "horovodrun: ", shell_quoted(command.argv), "\n");
  std::fputs(text.c_str(), stderr);
}

absl::StatusOr<int> launch(const std::vector<std::string>& words) {
  const Environment environment = current_environment();
  HVD_ASSIGN_OR_RETURN(const Arguments arguments,
                       parse_arguments(words, environment));
  if (!arguments.answer.empty()) {
    std::fputs(arguments.answer.c_str(), stdout);
    return 0;
  }
  HVD_ASSIGN_OR_RETURN(const MpiFlavor flavor, installed_flavor());
  const Surroundings surroundings = {.agent = own_path(),
                                     .token = random_token(),
                                     .host_name = host_name(),
                                     .root = geteuid() == 0,
                                     .environment = environment};
  HVD_ASSIGN_OR_RETURN(const MpirunCommand command,
                       mpirun_command(flavor, arguments, surroundings));
  if (arguments.verbose) print_plan(command);
  HVD_ASSIGN_OR_RETURN(
      const Verdict verdict,
      run_job({flavor, arguments, command, environment, surroundings.token}));
  if (!verdict.line.empty()) {
    std::fputs(absl::StrCat(verdict.line, "\n").c_str(), stderr);
  }
  return verdict.exit_code;
}

// --agent TOKEN [--verbose] -- COMMAND...
int agent(const std::vector<std::string>& words) {
  AgentOptions options;
  size_t next = 1;
  if (words.size() > next) options.token = words[next++];
  if (words.size() > next && words[next] == "--verbose") {
    options.verbose = true;
    ++next;
  }
  if (words.size() < next + 2 || words[next] != "--") {
    std::fputs("horovodrun: --agent is for mpirun only\n", stderr);
    return kUsageError;
  }
  options.command.assign(words.begin() + static_cast<long>(next) + 1,
                         words.end());
  return run_agent(options);
}

int run(const std::vector<std::string>& words) {
  if (!words.empty() && words[0] == "--agent") return agent(words);
  const absl::StatusOr<int> code = launch(words);
  if (code.ok()) return *code;
  std::fputs(
      absl::StrCat("horovodrun: ", code.status().message(), "\n").c_str(),
      stderr);
  return code.status().code() == absl::StatusCode::kInvalidArgument
             ? kUsageError
             : 1;
}

}  // namespace
}  // namespace hvd::launcher

int main(int argc, char** argv) {
  return hvd::launcher::run({argv + 1, argv + argc});
}
