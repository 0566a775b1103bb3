// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/job/job.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/job/host_name.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/clock.h"
#include "horovodrun/engines/rank_order.h"
#include "horovodrun/job/agent_processes.h"
#include "horovodrun/job/live_view.h"
#include "horovodrun/job/membership.h"
#include "horovodrun/job/record_state.h"
#include "horovodrun/output/job_output.h"
#include "horovodrun/output/rank_files.h"
#include "horovodrun/output/rank_streams.h"
#include "horovodrun/system/process.h"
#include "horovodrun/system/process_tree.h"
#include "horovodrun/system/signal_queue.h"
#include "horovodrun/terminal/terminal_block.h"

namespace hvd::launcher {
namespace {

const std::vector<int> kJobSignals = {SIGCHLD, SIGINT,  SIGTERM, SIGHUP,
                                      SIGQUIT, SIGUSR1, SIGUSR2};
// Signals that a terminal also sends to the starter, but that the launcher
// passes on. SIGXFSZ, of a limit on files (ulimit -f), is included because
// mpirun would pass it on to all ranks if it hit the limit itself.
const std::vector<int> kKeptFromStarter = {SIGINT, SIGHUP, SIGQUIT, SIGXFSZ};
// The interval of polling for changes without a report.
constexpr std::chrono::milliseconds kPollInterval{50};
// Time for the starter's processes to write their last output after its end.
constexpr std::chrono::milliseconds kDrainTimeout{1000};

class RunningJob {
 public:
  explicit RunningJob(const Job& job)
      : job_(job),
        output_({.token = job.token,
                 .files = &files_,
                 .noise = job.arguments.verbose
                              ? std::span<const NoisePattern>()
                              : job.plan.noise,
                 .prefix = job.arguments.prefix}),
        watch_({.ranks = job.arguments.ranks,
                .start_timeout = job.arguments.start_timeout,
                .hosts = job.arguments.hosts,
                .starter = job.plan.starter,
                .hosts_need_connections = job.plan.hosts_need_connections,
                .is_elastic = job.arguments.elastic.is_elastic()},
               Clock::steady().now()),
        host_name_(host_name()),
        view_(job.arguments.watches
                  ? std::optional<LiveView>(std::in_place, job.arguments.ranks,
                                            Clock::steady().now())
                  : std::nullopt),
        // Without ignored signals: blocking a signal would make it arrive even
        // if it is ignored.
        signals_(without_ignored(kJobSignals)) {
    if (!job.arguments.elastic.is_elastic()) return;
    membership_.emplace(
        job.arguments, [this](const std::string& line) { output_.say(line); },
        Clock::steady().now());
  }

  absl::Status start();
  Verdict run();

 private:
  absl::Status open_files();
  void read_signals();
  void reap();
  void look_for_agents();
  void record_left_behind(const std::vector<pid_t>& pids);
  void pass_on(int signal);
  void terminate();
  void take_action();
  void change_membership();
  void wait(Clock::TimePoint deadline);
  void show_view();
  void finish();
  bool drain();
  Verdict with_write_errors(Verdict verdict) const;

  const Job& job_;
  RankFiles files_;
  std::string lost_file_;  // The first that an agent reported; empty: none.
  JobOutput output_;
  JobWatch watch_;
  std::optional<Membership> membership_;  // Of an elastic job.
  const std::string host_name_;
  std::optional<LiveView> view_;  // With --watch.
  const SignalQueue signals_;
  bool end_is_requested_ = false;  // The user has asked for the end.
  AgentProcesses agents_{host_name_};
  std::optional<KillTimeout> killing_;  // Set when the starter gets SIGKILL.
  pid_t starter_ = -1;
  bool starter_ended_ = false;
  bool starter_was_killed_ = false;
};

// Before the start, so that an error is the only one. Files of a rank on another
// host are made there.
absl::Status RunningJob::open_files() {
  const Arguments& arguments = job_.arguments;
  if (arguments.output_filename.empty()) return absl::OkStatus();
  HVD_RETURN_IF_ERROR(files_.open(arguments.output_filename, arguments.ranks,
                                  arguments.log_limits));
  if (!all_local(arguments.hosts, host_name_) || !job_.plan.reads_ranks) {
    return absl::OkStatus();
  }
  for (int rank = 0; rank < arguments.ranks; ++rank) {
    HVD_RETURN_IF_ERROR(files_.add(rank));
  }
  return absl::OkStatus();
}

absl::Status RunningJob::start() {
  adopt_orphans();
  // Write errors are reported in the last line.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  HVD_RETURN_IF_ERROR(open_files());
  int output = -1;
  int errors = -1;
  if (signals_.fd() < 0 || !output_.open(&output, &errors)) {
    return errno_error(absl::StrCat("cannot watch over ", job_.plan.starter));
  }
  Environment environment = job_.plan.added;
  environment.insert(job_.environment.begin(), job_.environment.end());
  environment.erase(kOutputVariable);
  if (!output_.desk().empty() && job_.plan.reads_ranks) {
    environment[kOutputVariable] = output_.desk();
  }
  PipeWriter* const orders = membership_ ? &membership_->orders() : nullptr;
  if (orders != nullptr) {
    if (!orders->is_open()) return errno_error("cannot order newcomers");
    environment[kOrdersVariable] = absl::StrCat(orders->reading_end());
  }
  // At this process's death the starter gets SIGTERM, so that it ends its ranks
  // on all hosts and cleans up. It ignores SIGPIPE, so that its last output
  // does not end it before.
  const Spawned spawned =
      spawn(job_.plan.argv, {.environment = std::move(environment),
                             .stdout_fd = output,
                             .stderr_fd = errors,
                             .kept_fd = orders ? orders->reading_end() : -1,
                             .death_signal = SIGTERM,
                             .ignores_sigpipe = true,
                             .mask = signal_set(kKeptFromStarter)});
  close(output);
  close(errors);
  if (orders != nullptr) orders->close_reading_end();
  if (spawned.error != 0) {
    return absl::InternalError(
        absl::StrCat("cannot start ", job_.plan.argv[0], ": ",
                     describe_start_error(spawned.error)));
  }
  starter_ = spawned.pid;
  return absl::OkStatus();
}

void RunningJob::read_signals() {
  while (const auto arrival = signals_.next()) {
    const int signal = arrival->signal;
    if (signal == SIGCHLD) continue;
    pass_on(signal);
    if (signal != SIGUSR1 && signal != SIGUSR2) {
      end_is_requested_ = true;
      watch_.signal_arrived(signal, Clock::steady().now());
    }
  }
}

void RunningJob::reap() {
  const auto of_others = [this](pid_t pid, int status) {
    if (membership_) membership_->child_ended(pid, status);
  };
  if (const auto status = reap_children(starter_, of_others)) {
    starter_ended_ = true;
    starter_was_killed_ = WIFSIGNALED(*status);
    watch_.starter_ended(*status);
  }
}

void RunningJob::look_for_agents() {
  for (const int rank : agents_.look(watch_.running())) {
    watch_.agent_ended(rank, Clock::steady().now());
  }
}

void RunningJob::record_left_behind(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) {
    watch_.left_behind({.kind = Report::Kind::kLeftBehind,
                        .rank = agents_.rank_of(pid),
                        .pid = pid,
                        .host = host_name_,
                        .text = where_it_waits(pid)});
  }
}

// Sends the signal to the agents themselves if all are on this host, else
// through the starter.
void RunningJob::pass_on(int signal) {
  if (starter_ended_ || agents_.signal(watch_.running(), signal)) return;
  kill(starter_, job_.plan.disguises_signals
                     ? job_.plan.engine->disguise(signal)
                     : signal);
}

// mpirun ends when its agents have. Told to end, it first continues stopped
// ranks, and takes a second before it ends them.
void RunningJob::terminate() {
  const bool agents_suffice =
      all_have_started(watch_.record()) && !watch_.running().empty();
  if (agents_suffice && agents_.signal(watch_.running(), SIGTERM)) return;
  kill(starter_, SIGTERM);
}

void RunningJob::take_action() {
  switch (watch_.next_action(Clock::steady().now())) {
    case JobWatch::Action::kWait:
      break;
    case JobWatch::Action::kTerminate:
      terminate();
      break;
    case JobWatch::Action::kKill:
      kill(starter_, SIGKILL);
      killing_.emplace();
      break;
  }
}

void RunningJob::change_membership() {
  if (!membership_) return;
  for (const int rank : membership_->proceed(watch_, Clock::steady().now())) {
    // Its output is shown without its files, if these cannot be created.
    if (const absl::Status added = files_.add(rank); !added.ok()) {
      lost_file_ = std::string(added.message());
    }
  }
}

void RunningJob::wait(Clock::TimePoint deadline) {
  using std::chrono::milliseconds;
  const Clock::TimePoint now = Clock::steady().now();
  const Clock::TimePoint until =
      std::min({deadline, output_.deadline(),
                membership_ ? membership_->deadline() : Clock::TimePoint::max(),
                view_ ? view_->deadline() : Clock::TimePoint::max(),
                now + std::chrono::hours(1)});
  const auto left = std::chrono::ceil<milliseconds>(until - now);
  std::vector<pollfd> fds = {{signals_.fd(), POLLIN, 0}};
  output_.add_awaited(&fds);
  if (membership_) membership_->add_awaited(&fds);
  poll(fds.data(), fds.size(),
       static_cast<int>(std::max(milliseconds(0), left).count()));
}

// Reads the output and shows as much as fits; returns whether ranks wrote
// anything.
bool RunningJob::drain() {
  std::vector<Report> reports;
  const bool any = output_.drain(&reports);
  for (const Report& report : reports) {
    if (report.kind == Report::Kind::kFileLost) {
      if (lost_file_.empty()) {
        lost_file_ = absl::StrCat("host '", report.host, "': ", report.text);
      }
      continue;
    }
    if (report.kind == Report::Kind::kActivity) {
      if (view_) view_->arrived(report, Clock::steady().now());
      continue;
    }
    if (report.kind == Report::Kind::kLastLine) {
      output_.add_last_line(report.rank, report.text);
      continue;
    }
    watch_.report_arrived(report, Clock::steady().now());
  }
  return any;
}

Verdict RunningJob::run() {
  while (!starter_ended_ && !(killing_ && killing_->is_over({starter_}))) {
    wait(
        watch_.is_ending() || killing_
            ? std::min(watch_.deadline(), Clock::steady().now() + kPollInterval)
            : watch_.deadline());
    // Read reports first: the meaning of a signal depends on which ranks run.
    drain();
    read_signals();
    reap();
    if (watch_.is_ending()) look_for_agents();
    if (view_) show_view();
    change_membership();
    if (!starter_ended_) take_action();
  }
  if (view_) output_.clear_block();
  view_.reset();
  finish();
  Verdict verdict =
      with_write_errors(watch_.verdict(job_.arguments.command[0]));
  verdict.is_final = verdict.is_final || end_is_requested_;
  verdict.last_lines = output_.last_lines(verdict.rank);
  for (const RankRecord& rank : watch_.record().ranks) {
    verdict.hosts.push_back(rank.asked_host);
  }
  return verdict;
}

void RunningJob::show_view() {
  const TerminalSize size = terminal_size(STDERR_FILENO);
  auto block = view_->block(watch_.record(),
                            {.columns = size.columns, .lines = size.lines},
                            Clock::steady().now());
  if (block) output_.show_block(*std::move(block));
}

void RunningJob::finish() {
  using std::chrono::milliseconds;
  if (membership_) membership_->end();
  if (!descendants().empty()) look_for_agents();
  // Agents end by themselves after the starter, and clean up best.
  const Clock::TimePoint deadline = Clock::steady().now() + kDrainTimeout;
  const auto anything_left = [&] {
    return output_.is_open() || !descendants().empty();
  };
  while (anything_left() && Clock::steady().now() < deadline) {
    wait(std::min(deadline, Clock::steady().now() + milliseconds(20)));
    drain();
    read_signals();
    reap();
  }
  record_left_behind(kill_descendants().left);
  if (starter_was_killed_) {
    job_.plan.engine->clean_up_after_starter(starter_, job_.environment);
  }
  // A slow reader gets all output, unless the user has asked for the end.
  while (drain() || (output_.has_unshown() && !end_is_requested_)) {
    if (output_.has_unshown()) wait(Clock::TimePoint::max());
    read_signals();
  }
}

// Lost output makes a success a failure.
Verdict RunningJob::with_write_errors(Verdict verdict) const {
  const std::string error = lost_file_.empty() ? output_.error() : lost_file_;
  if (error.empty() || verdict.exit_code != 0) return verdict;
  return {.exit_code = 1,
          .line = absl::StrCat("horovodrun: ", error),
          .is_final = true};
}

}  // namespace

absl::StatusOr<Verdict> run_job(const Job& job) {
  RunningJob running(job);
  HVD_RETURN_IF_ERROR(running.start());
  return running.run();
}

}  // namespace hvd::launcher
