#include "horovodrun/job.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/clock.h"
#include "horovodpp/core/status.h"
#include "horovodrun/agent.h"
#include "horovodrun/process.h"
#include "horovodrun/stderr_filter.h"

namespace hvd::launcher {
namespace {

const std::vector<int> kSignals = {SIGCHLD, SIGINT,  SIGTERM, SIGHUP,
                                   SIGQUIT, SIGUSR1, SIGUSR2};
// Which a terminal sends to mpirun, too, but which are for the launcher to pass
// on.
const std::vector<int> kKeptFromMpirun = {SIGINT, SIGHUP, SIGQUIT};
// For what mpirun's processes still have to write after it has ended.
constexpr std::chrono::milliseconds kDrainTime{1000};

void write_all(int fd, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = write(fd, text.data() + done, text.size() - done);
    if (count > 0) {
      done += static_cast<size_t>(count);
    } else if (errno == EAGAIN) {
      pollfd poll_fd = {fd, POLLOUT, 0};
      poll(&poll_fd, 1, -1);
    } else if (errno != EINTR) {
      return;  // Nobody reads any more.
    }
  }
}

class RunningJob {
 public:
  explicit RunningJob(const Job& job)
      : job_(job),
        reports_(job.token),
        watch_(job.arguments.ranks, job.arguments.start_timeout,
               Clock::steady().now()),
        host_name_(host_name()) {}

  absl::Status start();
  Verdict run();

 private:
  bool read_output();
  void read_signals();
  void reap();
  void pass_on(int signal);
  void take_action();
  void wait(Clock::TimePoint deadline);
  void finish();

  const Job& job_;
  ReportFilter reports_;
  NoiseFilter noise_;
  JobWatch watch_;
  const std::string host_name_;
  int signals_ = -1;
  int output_ = -1;  // What mpirun writes to standard error; -1: at its end.
  pid_t mpirun_ = -1;
  bool mpirun_ended_ = false;
};

absl::Status RunningJob::start() {
  adopt_orphans();
  std::signal(SIGPIPE, SIG_IGN);
  // A blocked signal would arrive although it is ignored.
  const sigset_t set = signal_set(without_ignored(kSignals));
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  int ends[2];
  if (signals_ < 0 || pipe2(ends, O_CLOEXEC) != 0) {
    return errno_error("cannot watch over mpirun");
  }
  Environment environment = job_.command.added;
  environment.insert(job_.environment.begin(), job_.environment.end());
  // SIGTERM, so that mpirun ends its ranks on all hosts and clears up.
  const Spawned spawned =
      spawn(job_.command.argv, {.environment = std::move(environment),
                                .stderr_fd = ends[1],
                                .death_signal = SIGTERM,
                                .mask = signal_set(kKeptFromMpirun)});
  close(ends[1]);
  output_ = ends[0];
  fcntl(output_, F_SETFL, O_NONBLOCK);
  if (spawned.error != 0) {
    return absl::InternalError(absl::StrCat("cannot start ",
                                            job_.command.argv[0], ": ",
                                            std::strerror(spawned.error)));
  }
  mpirun_ = spawned.pid;
  return absl::OkStatus();
}

// False if there was nothing to read.
bool RunningJob::read_output() {
  char bytes[1 << 16];
  const ssize_t count = read(output_, bytes, sizeof bytes);
  if (count < 0) return false;
  std::string text;
  std::vector<Report> reports;
  if (count > 0) {
    reports_.feed({bytes, static_cast<size_t>(count)}, &text, &reports);
  } else {
    reports_.finish(&text);
    close(output_);
    output_ = -1;
  }
  std::string shown;
  if (job_.arguments.verbose) {
    shown = std::move(text);
  } else {
    noise_.feed(text, &shown);
    if (count == 0) noise_.finish(&shown);
  }
  write_all(STDERR_FILENO, shown);
  for (const Report& report : reports) {
    watch_.report_arrived(report, Clock::steady().now());
  }
  return output_ >= 0;
}

void RunningJob::read_signals() {
  signalfd_siginfo info;
  while (read(signals_, &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) continue;
    pass_on(signal);
    if (signal != SIGUSR1 && signal != SIGUSR2) {
      watch_.signal_arrived(signal, Clock::steady().now());
    }
  }
}

void RunningJob::reap() {
  int status = 0;
  pid_t pid;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    if (pid != mpirun_) continue;
    mpirun_ended_ = true;
    watch_.mpirun_ended(status);
  }
}

// To the agents themselves where all are within reach, else through mpirun.
void RunningJob::pass_on(int signal) {
  if (mpirun_ended_) return;
  const std::vector<Report> running = watch_.running();
  const std::vector<pid_t> reachable = descendants();
  const bool all_reachable =
      std::all_of(running.begin(), running.end(), [&](const Report& agent) {
        return agent.host == host_name_ &&
               std::find(reachable.begin(), reachable.end(), agent.pid) !=
                   reachable.end();
      });
  if (!all_reachable) {
    kill(mpirun_,
         is_open_mpi(job_.flavor) ? signal_through_mpirun(signal) : signal);
    return;
  }
  for (const Report& agent : running) kill(agent.pid, signal);
}

void RunningJob::take_action() {
  switch (watch_.next_action(Clock::steady().now())) {
    case JobWatch::Action::kWait:
      break;
    case JobWatch::Action::kTerminate:
      kill(mpirun_, SIGTERM);
      break;
    case JobWatch::Action::kKill:
      kill(mpirun_, SIGKILL);
      break;
  }
}

void RunningJob::wait(Clock::TimePoint deadline) {
  using std::chrono::milliseconds;
  const Clock::TimePoint now = Clock::steady().now();
  const Clock::TimePoint until =
      std::min(deadline, now + std::chrono::hours(1));
  const auto left = std::chrono::ceil<milliseconds>(until - now);
  // A negative descriptor is not watched.
  pollfd fds[] = {{signals_, POLLIN, 0}, {output_, POLLIN, 0}};
  poll(fds, 2, static_cast<int>(std::max(milliseconds(0), left).count()));
}

Verdict RunningJob::run() {
  while (!mpirun_ended_) {
    wait(watch_.deadline());
    // Reports first: what a signal means depends on which ranks run.
    if (output_ >= 0) read_output();
    read_signals();
    reap();
    if (!mpirun_ended_) take_action();
  }
  finish();
  return watch_.verdict(job_.arguments.command[0]);
}

void RunningJob::finish() {
  // Agents end by themselves when mpirun has; they know best how to.
  const Clock::TimePoint deadline = Clock::steady().now() + kDrainTime;
  while ((output_ >= 0 || !descendants().empty()) &&
         Clock::steady().now() < deadline) {
    wait(std::min(deadline,
                  Clock::steady().now() + std::chrono::milliseconds(20)));
    read_signals();
    while (output_ >= 0 && read_output()) {
    }
    reap();
  }
  kill_descendants();
  while (output_ >= 0 && read_output()) {
  }
}

}  // namespace

absl::StatusOr<Verdict> run_job(const Job& job) {
  RunningJob running(job);
  HVD_RETURN_IF_ERROR(running.start());
  return running.run();
}

}  // namespace hvd::launcher
