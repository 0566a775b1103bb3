#include "horovodrun/agent.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "horovodrun/environment.h"
#include "horovodrun/node_settings.h"
#include "horovodrun/process.h"
#include "horovodrun/report.h"

namespace hvd::launcher {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Open MPI kills an agent a second after SIGTERM.
constexpr milliseconds kTerminationTime{800};
// For helpers of the command that end when they see that it has.
constexpr milliseconds kFarewellTime{1000};
// In which mpirun has read what the command wrote.
constexpr milliseconds kDrainTime{200};
constexpr milliseconds kParentCheck{500};

const std::vector<int> kSignals = {SIGCHLD, SIGINT,  SIGTERM, SIGHUP,
                                   SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM,
                                   SIGABRT, SIGCONT, SIGTSTP};

int number_in(const Environment& environment,
              std::initializer_list<const char*> names, int fallback) {
  for (const char* name : names) {
    const auto found = environment.find(name);
    int number = 0;
    if (found != environment.end() &&
        absl::SimpleAtoi(found->second, &number)) {
      return number;
    }
  }
  return fallback;
}

std::int64_t microseconds_now() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class Agent {
 public:
  explicit Agent(const AgentOptions& options)
      : options_(options),
        environment_(current_environment()),
        rank_(number_in(environment_,
                        {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}, -1)),
        parent_(getppid()) {}

  int run();

 private:
  void add_node_settings();
  void write_report(Report::Kind kind, int pid, int value);
  void on_signal(const signalfd_siginfo& signal);
  void reap();
  bool parent_is_gone(int parent_fd) const;
  bool wait_for_event(int signals, int parent_fd);
  void supervise(int signals, int parent_fd);

  const AgentOptions& options_;
  Environment environment_;
  const int rank_;
  const pid_t parent_;
  pid_t command_ = -1;
  bool ended_ = false;
  SteadyClock::time_point kill_time_ = SteadyClock::time_point::max();
};

void Agent::add_node_settings() {
  Node node;
  node.ranks = number_in(environment_,
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}, 1);
  node.cores = usable_cores();
  node.reads_memory = may_read_memory();
  const Environment settings = node_settings(node, environment_);
  environment_.insert(settings.begin(), settings.end());
  const int local_rank = number_in(
      environment_, {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"}, 0);
  if (!options_.verbose || local_rank != 0) return;
  std::string text =
      absl::StrCat("horovodrun: host '", host_name(), "': ", node.ranks,
                   " ranks, ", node.cores, " cores\n");
  for (const std::string& setting : to_strings(settings)) {
    absl::StrAppend(&text, "horovodrun: host '", host_name(), "': ", setting,
                    "\n");
  }
  std::fputs(text.c_str(), stderr);
}

// In one piece, and only when mpirun has read what came before: it forwards
// what it reads at once as one, and a report in two parts could get another
// rank's bytes between them.
void Agent::write_report(Report::Kind kind, int pid, int value) {
  const std::string line =
      to_line({kind, rank_, pid, value, microseconds_now(), host_name()},
              options_.token);
  const auto deadline = SteadyClock::now() + kDrainTime;
  int unread = 0;
  while (ioctl(STDERR_FILENO, FIONREAD, &unread) == 0 && unread > 0 &&
         SteadyClock::now() < deadline) {
    poll(nullptr, 0, 1);
  }
  ssize_t count;
  do {
    count = write(STDERR_FILENO, line.data(), line.size());
    if (count < 0 && errno == EAGAIN) poll(nullptr, 0, 1);
  } while (count < 0 && (errno == EINTR || errno == EAGAIN));
}

void Agent::on_signal(const signalfd_siginfo& info) {
  int signal = static_cast<int>(info.ssi_signo);
  if (signal == SIGCHLD) return;
  // Hydra tells ranks of a peer's end by SIGUSR1, which would kill most
  // programs.
  if (signal == SIGUSR1 && environment_.contains("HYDI_CONTROL_FD")) return;
  if (signal == SIGTERM) {
    kill_time_ = std::min(kill_time_, SteadyClock::now() + kTerminationTime);
  }
  if (signal == SIGALRM) signal = SIGINT;
  if (signal == SIGABRT) signal = SIGTERM;
  if (!ended_) kill(-command_, signal);
}

void Agent::reap() {
  int status = 0;
  pid_t pid;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    if (pid != command_ || ended_) continue;
    ended_ = true;
    if (WIFSIGNALED(status)) {
      write_report(Report::Kind::kKilled, pid, WTERMSIG(status));
    } else {
      write_report(Report::Kind::kExited, pid, WEXITSTATUS(status));
    }
    kill_time_ = std::min(kill_time_, SteadyClock::now() + kFarewellTime);
  }
}

bool Agent::parent_is_gone(int parent_fd) const {
  if (parent_fd < 0) return getppid() != parent_;
  pollfd poll_fd = {parent_fd, POLLIN, 0};
  return poll(&poll_fd, 1, 0) > 0;
}

// False if nothing happened until the time to kill.
bool Agent::wait_for_event(int signals, int parent_fd) {
  const auto left = std::chrono::ceil<milliseconds>(
      std::min(kill_time_, SteadyClock::now() + std::chrono::hours(1)) -
      SteadyClock::now());
  milliseconds wait = std::max(milliseconds(0), left);
  // Kernels before 5.3 have no descriptor for a process.
  if (parent_fd < 0) wait = std::min(wait, kParentCheck);
  pollfd fds[] = {{signals, POLLIN, 0}, {parent_fd, POLLIN, 0}};
  poll(fds, 2, static_cast<int>(wait.count()));
  signalfd_siginfo info;
  while (read(signals, &info, sizeof info) == sizeof info) on_signal(info);
  return SteadyClock::now() < kill_time_;
}

void Agent::supervise(int signals, int parent_fd) {
  for (;;) {
    reap();
    if (ended_ && descendants().empty()) return;
    if (!wait_for_event(signals, parent_fd) || parent_is_gone(parent_fd)) break;
  }
  reap();
  // The command first: what it ended by is still to be reported.
  if (!ended_) {
    kill(-command_, SIGKILL);
    while (!ended_) {
      reap();
      poll(nullptr, 0, 1);
    }
  }
  kill_descendants();
}

int Agent::run() {
  if (rank_ < 0) {
    std::fputs(
        "horovodrun: --agent is for mpirun only; write horovodrun -np N "
        "command\n",
        stderr);
    return 2;
  }
  adopt_orphans();
  std::signal(SIGPIPE, SIG_IGN);
  const int parent_fd = static_cast<int>(syscall(SYS_pidfd_open, parent_, 0));
  add_node_settings();
  const sigset_t set = signal_set(kSignals);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  const int signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);

  write_report(Report::Kind::kStarted, getpid(), 0);
  const Spawned spawned = spawn(options_.command, {.environment = environment_,
                                                   .own_group = true,
                                                   .death_signal = SIGKILL,
                                                   .mask = signal_set({})});
  if (spawned.error != 0) {
    write_report(Report::Kind::kNotExecuted, 0, spawned.error);
    return 0;
  }
  command_ = spawned.pid;
  supervise(signals, parent_fd);
  return 0;
}

}  // namespace

int signal_for_agent(int signal, bool through_mpirun) {
  if (signal == SIGUSR1 || signal == SIGUSR2) return signal;
  if (signal == SIGTERM) return SIGABRT;
  if (!through_mpirun) return signal;
  return signal == SIGINT ? SIGALRM : SIGABRT;
}

int run_agent(const AgentOptions& options) { return Agent(options).run(); }

}  // namespace hvd::launcher
