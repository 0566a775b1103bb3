#include "horovodrun/job.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/clock.h"
#include "horovodpp/core/host_name.h"
#include "horovodpp/core/status.h"
#include "horovodrun/agent.h"
#include "horovodrun/mpi_leftovers.h"
#include "horovodrun/process.h"
#include "horovodrun/rank_streams.h"
#include "horovodrun/shown_output.h"
#include "horovodrun/stderr_filter.h"

namespace hvd::launcher {
namespace {

const std::vector<int> kSignals = {SIGCHLD, SIGINT,  SIGTERM, SIGHUP,
                                   SIGQUIT, SIGUSR1, SIGUSR2};
// Which a terminal sends to mpirun, too, but which are for the launcher to pass
// on.
const std::vector<int> kKeptFromMpirun = {SIGINT, SIGHUP, SIGQUIT};
// How often to look for what nobody reports.
constexpr std::chrono::milliseconds kLook{50};
// For what mpirun's processes still have to write after it has ended.
constexpr std::chrono::milliseconds kDrainTime{1000};

// A pipe of which this process reads one end and mpirun writes the other.
bool make_pipe(int* here, int* there) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  *here = ends[0];
  *there = ends[1];
  return true;
}

// Whether both lead to the same terminal, pipe or file.
bool is_same_file(int one, int other) {
  struct stat a = {};
  struct stat b = {};
  return fstat(one, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

// Whether mpirun is to do more with what ranks write than to show it.
bool is_handled_by_mpirun(const Arguments& arguments) {
  const auto is_about_output = [](const std::string& argument) {
    return absl::StrContains(argument, "output") ||
           absl::StrContains(argument, "stderr") ||
           absl::StrContains(argument, "xml");
  };
  return !arguments.output_filename.empty() ||
         std::any_of(arguments.mpi_arguments.begin(),
                     arguments.mpi_arguments.end(), is_about_output);
}

class RunningJob {
 public:
  explicit RunningJob(const Job& job)
      : job_(job),
        reports_(job.token),
        watch_({.ranks = job.arguments.ranks,
                .start_timeout = job.arguments.start_timeout,
                .hosts = job.arguments.hosts},
               Clock::steady().now()),
        host_name_(host_name()) {
    output_ = {-1, &shown_output_, shown_output_.add_source()};
    errors_ = {-1, &shown_errors(), shown_errors().add_source()};
  }

  absl::Status start();
  Verdict run();

 private:
  // Where what is meant for standard error goes.
  ShownOutput& shown_errors() {
    return one_stream_ ? shown_output_ : shown_errors_;
  }
  bool read_errors();
  bool read_ranks();
  void take_rank_streams();
  bool any_rank_writes() const;
  void read_signals();
  void reap();
  void look_for_agents();
  void pass_on(int signal);
  void take_action();
  void wait(Clock::TimePoint deadline);
  void finish();
  bool drain();
  Verdict with_write_errors(Verdict verdict) const;

  const Job& job_;
  ReportFilter reports_;
  NoiseFilter noise_;
  JobWatch watch_;
  const std::string host_name_;
  int signals_ = -1;
  const bool one_stream_ = is_same_file(STDOUT_FILENO, STDERR_FILENO);
  ShownOutput shown_output_{STDOUT_FILENO};
  ShownOutput shown_errors_{STDERR_FILENO};
  // What mpirun writes,
  ShownSource output_;
  ShownSource errors_;
  // and what ranks of this host do.
  RankStreamDesk desk_;
  std::vector<ShownSource> rank_streams_;
  bool is_impatient_ = false;  // The user has asked for the end.
  pid_t mpirun_ = -1;
  bool mpirun_ended_ = false;
  bool mpirun_was_killed_ = false;
};

absl::Status RunningJob::start() {
  adopt_orphans();
  std::signal(SIGPIPE, SIG_IGN);
  // A blocked signal would arrive although it is ignored.
  const sigset_t set = signal_set(without_ignored(kSignals));
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  int output = -1;
  int errors = -1;
  if (signals_ < 0 || !make_pipe(&output_.fd, &output) ||
      !make_pipe(&errors_.fd, &errors)) {
    return errno_error("cannot watch over mpirun");
  }
  Environment environment = job_.command.added;
  environment.insert(job_.environment.begin(), job_.environment.end());
  environment.erase(kOutputVariable);
  if (!desk_.name().empty() && !is_handled_by_mpirun(job_.arguments)) {
    environment[kOutputVariable] = desk_.name();
  }
  // SIGTERM, so that mpirun ends its ranks on all hosts and clears up; what it
  // then writes to nobody must not end it before.
  const Spawned spawned =
      spawn(job_.command.argv, {.environment = std::move(environment),
                                .stdout_fd = output,
                                .stderr_fd = errors,
                                .death_signal = SIGTERM,
                                .ignores_sigpipe = true,
                                .mask = signal_set(kKeptFromMpirun)});
  close(output);
  close(errors);
  if (spawned.error != 0) {
    return absl::InternalError(absl::StrCat("cannot start ",
                                            job_.command.argv[0], ": ",
                                            std::strerror(spawned.error)));
  }
  mpirun_ = spawned.pid;
  return absl::OkStatus();
}

// False if there was nothing to read.
bool RunningJob::read_errors() {
  char bytes[1 << 16];
  const ssize_t count = read(errors_.fd, bytes, sizeof bytes);
  if (count < 0) return false;
  std::string text;
  std::vector<Report> reports;
  if (count > 0) {
    reports_.feed({bytes, static_cast<size_t>(count)}, &text, &reports);
  } else {
    reports_.finish(&text);
  }
  std::string shown;
  if (job_.arguments.verbose) {
    shown = std::move(text);
  } else {
    noise_.feed(text, &shown);
    if (count == 0) noise_.finish(&shown);
  }
  const Clock::TimePoint now = Clock::steady().now();
  errors_.shown->feed(errors_.number, shown, now);
  if (count == 0) {
    close(std::exchange(errors_.fd, -1));
    errors_.shown->finish(errors_.number, now);
  }
  errors_.shown->pump(now);
  for (const Report& report : reports) watch_.report_arrived(report, now);
  return errors_.fd >= 0;
}

void RunningJob::take_rank_streams() {
  while (const auto arrived = desk_.receive(job_.token)) {
    rank_streams_.push_back(
        {arrived->output, &shown_output_, shown_output_.add_source()});
    rank_streams_.push_back(
        {arrived->errors, &shown_errors(), shown_errors().add_source()});
  }
}

// Whether there is still somebody who could.
bool RunningJob::any_rank_writes() const {
  return std::any_of(rank_streams_.begin(), rank_streams_.end(),
                     [](const ShownSource& stream) { return stream.fd >= 0; });
}

// Something of each; false if there was nothing.
bool RunningJob::read_ranks() {
  take_rank_streams();
  bool any = false;
  for (ShownSource& stream : rank_streams_) {
    any = stream.read(Clock::steady().now()) || any;
  }
  return any;
}

void RunningJob::read_signals() {
  signalfd_siginfo info;
  while (read(signals_, &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) continue;
    pass_on(signal);
    if (signal != SIGUSR1 && signal != SIGUSR2) {
      is_impatient_ = true;
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
    mpirun_was_killed_ = WIFSIGNALED(status);
    watch_.mpirun_ended(status);
  }
}

void RunningJob::look_for_agents() {
  const std::vector<pid_t> alive = descendants();
  for (const Report& agent : watch_.running()) {
    if (agent.host == host_name_ &&
        std::find(alive.begin(), alive.end(), agent.pid) == alive.end()) {
      watch_.agent_ended(agent.rank, Clock::steady().now());
    }
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
      std::min({deadline, shown_output_.deadline(), shown_errors_.deadline(),
                now + std::chrono::hours(1)});
  const auto left = std::chrono::ceil<milliseconds>(until - now);
  // A negative descriptor is not watched. Reports are read even if nobody reads
  // what comes with them.
  std::vector<pollfd> fds = {{signals_, POLLIN, 0},
                             {errors_.fd, POLLIN, 0},
                             {output_.awaited_fd(), POLLIN, 0},
                             {desk_.fd(), POLLIN, 0},
                             {shown_output_.awaited_fd(), POLLOUT, 0},
                             {shown_errors_.awaited_fd(), POLLOUT, 0}};
  for (const ShownSource& stream : rank_streams_) {
    fds.push_back({stream.awaited_fd(), POLLIN, 0});
  }
  poll(fds.data(), fds.size(),
       static_cast<int>(std::max(milliseconds(0), left).count()));
}

// Reads what has come and shows what there is room for; whether ranks wrote
// anything.
bool RunningJob::drain() {
  const Clock::TimePoint now = Clock::steady().now();
  shown_output_.pump(now);
  shown_errors_.pump(now);
  while (errors_.fd >= 0 && read_errors()) {
  }
  const bool any_output = output_.read(now);
  return read_ranks() || any_output;
}

Verdict RunningJob::run() {
  while (!mpirun_ended_) {
    wait(watch_.is_ending()
             ? std::min(watch_.deadline(), Clock::steady().now() + kLook)
             : watch_.deadline());
    // Reports first: what a signal means depends on which ranks run.
    drain();
    read_signals();
    reap();
    if (watch_.is_ending()) look_for_agents();
    if (!mpirun_ended_) take_action();
  }
  finish();
  return with_write_errors(watch_.verdict(job_.arguments.command[0]));
}

void RunningJob::finish() {
  using std::chrono::milliseconds;
  // Agents end by themselves when mpirun has; they know best how to.
  const Clock::TimePoint deadline = Clock::steady().now() + kDrainTime;
  const auto anything_left = [&] {
    return output_.fd >= 0 || errors_.fd >= 0 || any_rank_writes() ||
           !descendants().empty();
  };
  while (anything_left() && Clock::steady().now() < deadline) {
    wait(std::min(deadline, Clock::steady().now() + milliseconds(20)));
    drain();
    read_signals();
    reap();
  }
  kill_descendants();
  if (mpirun_was_killed_) {
    remove_mpirun_leftovers(mpirun_, mpirun_directory(job_.environment));
  }
  // Whoever reads slowly shall have it all, unless the user has enough.
  const auto unshown = [&] {
    return shown_output_.has_unshown() || shown_errors_.has_unshown();
  };
  while (drain() || (unshown() && !is_impatient_)) {
    if (unshown()) wait(Clock::TimePoint::max());
    read_signals();
  }
}

// Output that is lost is no success.
Verdict RunningJob::with_write_errors(Verdict verdict) const {
  const bool lost_output = shown_output_.error() != 0;
  const int error = lost_output ? shown_output_.error() : shown_errors_.error();
  if (error == 0 || verdict.exit_code != 0) return verdict;
  return {1, absl::StrCat("horovodrun: cannot write to standard ",
                          lost_output ? "output" : "error", ": ",
                          std::strerror(error))};
}

}  // namespace

absl::StatusOr<Verdict> run_job(const Job& job) {
  RunningJob running(job);
  HVD_RETURN_IF_ERROR(running.start());
  return running.run();
}

}  // namespace hvd::launcher
