// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/mpirun/remote_shell.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodrun/command_line/shell_words.h"
#include "horovodrun/engines/mpirun/node_keeper.h"
#include "horovodrun/output/report.h"
#include "horovodrun/system/process.h"
#include "horovodrun/system/signal_queue.h"

namespace hvd::launcher {
namespace {

using Words = std::vector<std::string>;

const std::vector<int> kShellSignals = {SIGCHLD, SIGINT, SIGTERM, SIGHUP,
                                        SIGQUIT};

// ssh's options that take a value.
constexpr char kOptionsWithValue[] = "BbcDEeFIiJLlmOopQRSWw";

std::string host_in(const Words& added) {
  for (std::size_t i = 0; i < added.size(); ++i) {
    const std::string& word = added[i];
    if (word.empty()) continue;
    if (word[0] != '-') return word;
    const bool value_follows =
        word.size() == 2 && absl::StrContains(kOptionsWithValue, word[1]);
    if (value_follows) ++i;
  }
  return "";
}

// Replaces mpirun's command for the host, from the word that ends in its
// daemon's name on, by one word that runs it under the keeper. Does nothing for
// a daemon of another name.
void keep_daemon(Words& added) {
  const auto daemon = std::find_if(
      added.begin(), added.end(),
      [](const std::string& word) { return absl::EndsWith(word, "orted"); });
  if (daemon == added.end()) return;
  const std::string command =
      under_keeper(own_path(), absl::StrJoin(daemon, added.end(), " "));
  added.erase(daemon, added.end());
  added.push_back(command);
}

struct ShellEnd {
  int status = 0;
  bool was_asked = false;  // By a signal of mpirun's.
};

// Waits for `child`, passing signals on to it; nullopt if mpirun has ended
// before.
std::optional<ShellEnd> wait_for(pid_t child, const ParentWatch& parent,
                                 const SignalQueue& signals) {
  ShellEnd end;
  while (waitpid(child, &end.status, WNOHANG) == 0) {
    if (parent.ended()) return std::nullopt;
    wait_for_signal(signals, parent);
    while (const auto arrival = signals.next()) {
      if (arrival->signal == SIGCHLD) continue;
      kill(child, arrival->signal);
      end.was_asked = true;
    }
  }
  return end;
}

// Waits until mpirun ends, or ends this process.
void stay(const ParentWatch& parent, const SignalQueue& signals) {
  while (!parent.ended()) {
    wait_for_signal(signals, parent);
    while (const auto arrival = signals.next()) {
      if (arrival->signal != SIGCHLD) return;
    }
  }
}

}  // namespace

std::string remote_shell_agent(const std::string& program,
                               const Environment& environment) {
  const bool is_one_word = program.find_first_of(" \t:") == std::string::npos;
  Words agent = users_agent(environment);
  if (!is_one_word || agent.empty()) return "";
  // As Open MPI does for an agent of this name.
  if (agent[0] == "ssh") agent.push_back("-x");
  return absl::StrCat(program, " --remote-shell ", agent.size(), " ",
                      absl::StrJoin(agent, " "));
}

int run_remote_shell(const Words& words) {
  std::size_t count = 0;
  if (words.size() < 2 || !absl::SimpleAtoi(words[0], &count) || count < 1 ||
      words.size() - 1 < count) {
    return 2;
  }
  const ParentWatch parent(getppid());
  const auto middle = words.begin() + 1 + static_cast<std::ptrdiff_t>(count);
  Words argv(words.begin() + 1, middle);
  Words added(middle, words.end());
  const std::string host = host_in(added);
  keep_daemon(added);
  argv.insert(argv.end(), added.begin(), added.end());
  Environment environment = current_environment();
  const std::string token = environment[kTokenVariable];
  environment.erase(kTokenVariable);
  std::signal(SIGPIPE, SIG_IGN);
  const SignalQueue signals(kShellSignals);
  const Spawned shell = spawn(argv, {.environment = std::move(environment),
                                     .death_signal = SIGTERM,
                                     .mask = signal_set({})});
  const auto report_lost_host = [&](int value) {
    send_report({.kind = Report::Kind::kHostLost, .value = value, .host = host},
                token);
  };
  int code = shell.error == ENOENT ? 127 : 126;
  if (shell.error == 0) {
    const auto end = wait_for(shell.pid, parent, signals);
    if (!end) {
      kill(shell.pid, SIGTERM);
      return 1;
    }
    if (WIFSIGNALED(end->status)) {
      if (!end->was_asked) report_lost_host(-WTERMSIG(end->status));
      stay(parent, signals);
      return 0;
    }
    code = WEXITSTATUS(end->status);
  }
  if (code != 0) report_lost_host(code);
  return code;
}

}  // namespace hvd::launcher
