// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/node/supervisor.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

#include "horovodpp/core/job/rank_progress.h"
#include "horovodpp/core/job/rank_status.h"
#include "horovodrun/engines/engine.h"
#include "horovodrun/node/crash_library.h"
#include "horovodrun/node/flight_recorder.h"
#include "horovodrun/output/rank_streams.h"
#include "horovodrun/output/report.h"
#include "horovodrun/system/abstract_socket.h"
#include "horovodrun/system/process.h"
#include "horovodrun/system/process_tree.h"
#include "horovodrun/system/process_usage.h"
#include "horovodrun/system/signal_queue.h"
#include "horovodrun/watch/rank_activity.h"

namespace hvd::launcher {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// For helper processes of the command, which end when they notice its end.
constexpr milliseconds kRankExitTimeout{1000};
constexpr milliseconds kActivityInterval{500};

const std::vector<int> kSupervisorSignals = {SIGCHLD, SIGINT,  SIGTERM,
                                             SIGHUP,  SIGQUIT, SIGUSR1,
                                             SIGUSR2, SIGCONT, SIGTSTP};

// Receives the rank's news of its job. The rank finds the socket's name in
// HOROVODPP_LAUNCHER. One process at a time is heard: the first sender, until
// it has ended. So a job that a rank starts for itself does not speak for the
// rank.
class NewsSocket {
 public:
  // Empty if the socket cannot be created; nothing is received then.
  const std::string& name() const { return socket_.name(); }
  int fd() const { return socket_.fd(); }

  // All news that have arrived. Progress among them replaces `progress`.
  std::vector<RankStatus> receive(std::optional<RankProgress>* progress) {
    std::vector<RankStatus> all;
    while (const auto letter = socket_.receive(kMaxRankStatusBytes)) {
      for (const int descriptor : letter->descriptors) close(descriptor);
      const auto news = parse_rank_status(letter->bytes);
      const auto sent = parse_rank_progress(letter->bytes);
      if (!(news || sent) || !is_heard(letter->sender)) continue;
      if (news) all.push_back(*news);
      if (sent) *progress = sent;
    }
    return all;
  }

 private:
  bool is_heard(pid_t speaker) {
    if (speaker_ == 0 || (speaker != speaker_ && kill(speaker_, 0) != 0)) {
      speaker_ = speaker;
    }
    return speaker == speaker_;
  }

  AbstractSocket socket_;
  pid_t speaker_ = 0;
};

class Supervisor {
 public:
  explicit Supervisor(const Supervision& supervision)
      : supervision_(supervision),
        parent_(supervision.parent),
        signals_(kSupervisorSignals) {}

  bool run();

 private:
  void report(Report::Kind kind, int pid, int value) const;
  void pass_on_news();
  void report_work() const;
  void report_activity();
  void reap();
  void wait_for_event();
  void end_command();

  const Supervision& supervision_;
  const ParentWatch parent_;
  const SignalQueue signals_;
  NewsSocket news_;
  const FlightRecorder recorder_;
  pid_t command_ = -1;
  bool ended_ = false;
  bool succeeded_ = false;
  RankActivity activity_;
  // For --watch; otherwise never.
  SteadyClock::time_point next_activity_ = SteadyClock::time_point::max();
  SteadyClock::time_point kill_time_ = SteadyClock::time_point::max();
};

void Supervisor::report(Report::Kind kind, int pid, int value) const {
  send_report(
      {.kind = kind, .rank = supervision_.rank, .pid = pid, .value = value},
      supervision_.token);
}

void Supervisor::pass_on_news() {
  for (const RankStatus& news : news_.receive(&activity_.progress)) {
    send_report(
        {.kind = Report::Kind::kNews, .rank = supervision_.rank, .news = news},
        supervision_.token);
  }
}

void Supervisor::report_work() const {
  const std::string work = recorder_.last_work();
  if (work.empty()) return;
  send_report({.kind = Report::Kind::kWork,
               .rank = supervision_.rank,
               .pid = command_,
               .text = work},
              supervision_.token);
}

void Supervisor::report_activity() {
  if (SteadyClock::now() < next_activity_) return;
  next_activity_ = SteadyClock::now() + kActivityInterval;
  activity_.usage = usage_of_tree(command_);
  send_report({.kind = Report::Kind::kActivity,
               .rank = supervision_.rank,
               .pid = command_,
               .text = activity_text(activity_)},
              supervision_.token);
}

void Supervisor::reap() {
  const auto status = reap_children(command_);
  if (!status || ended_) return;
  ended_ = true;
  succeeded_ = *status == 0;
  pass_on_news();  // News, which explain the end, must arrive before it.
  if (!succeeded_) report_work();
  if (WIFSIGNALED(*status)) {
    report(Report::Kind::kKilled, command_, WTERMSIG(*status));
  } else {
    report(Report::Kind::kExited, command_, WEXITSTATUS(*status));
  }
  kill_time_ = SteadyClock::now() + kRankExitTimeout;
  next_activity_ = SteadyClock::time_point::max();
}

void Supervisor::wait_for_event() {
  const auto now = SteadyClock::now();
  const auto left = std::chrono::ceil<milliseconds>(
      std::min({kill_time_, next_activity_, now + std::chrono::hours(1)}) -
      now);
  wait_for_signal(signals_, parent_, {.longest = left, .readable = news_.fd()});
  pass_on_news();
  report_activity();
  while (const auto arrival = signals_.next()) {
    if (arrival->signal == SIGCHLD || ended_) continue;
    kill(-command_, arrival->signal);
    // A stopped command could not react to it.
    if (arrival->signal == SIGTERM) kill(-command_, SIGCONT);
  }
}

// End the command first, because its end must still be reported. A command that
// has become another user's cannot be ended, and is not waited for.
void Supervisor::end_command() {
  const bool ends = ended_ || kill(-command_, SIGKILL) == 0;
  KillTimeout timeout;
  bool is_stuck = false;
  while (ends && !ended_ && !is_stuck) {
    reap();
    poll(nullptr, 0, 1);
    is_stuck = timeout.is_over({command_});
  }
  const Killed killed =
      is_stuck ? kill_descendants(milliseconds(0)) : kill_descendants();
  report_left_behind(supervision_.rank, killed.left, supervision_.token);
}

bool Supervisor::run() {
  adopt_orphans();
  Environment environment = supervision_.environment;
  environment["HOROVODPP_LAUNCHER"] = news_.name();
  recorder_.add_to(environment);
  CrashLibrary crash_library;
  if (supervision_.debugs_crashes) {
    crash_library.add_to(environment, supervision_.rank);
  }
  RankStreams streams(supervision_.desk, supervision_.token, supervision_.rank,
                      supervision_.streams);
  const Spawned spawned =
      spawn(supervision_.command,
            {.environment = std::move(environment),
             .stdout_fd =
                 streams.output() >= 0 ? streams.output() : supervision_.output,
             .stderr_fd =
                 streams.errors() >= 0 ? streams.errors() : supervision_.errors,
             .kept_fd = recorder_.fd(),
             .own_group = true,
             .death_signal = SIGKILL,
             .mask = signal_set({})});
  streams.close();
  for (const int fd : {supervision_.output, supervision_.errors}) {
    if (fd >= 0) close(fd);
  }
  if (spawned.error != 0) {
    report(Report::Kind::kNotExecuted, 0, spawned.error);
    return false;
  }
  command_ = spawned.pid;
  if (supervision_.watches) next_activity_ = SteadyClock::now();
  for (;;) {
    reap();
    if (ended_ && descendants().empty()) break;
    if (parent_.ended() || SteadyClock::now() >= kill_time_) break;
    wait_for_event();
  }
  end_command();
  supervision_.engine->clean_up_after_rank(supervision_.environment);
  return succeeded_;
}

}  // namespace

bool supervise(const Supervision& supervision) {
  return Supervisor(supervision).run();
}

}  // namespace hvd::launcher
