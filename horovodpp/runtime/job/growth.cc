// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/job/growth.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/system/failpoints.h"
#include "horovodpp/core/thread/clock.h"
#include "horovodpp/runtime/channels/launcher_channel.h"
#include "horovodpp/runtime/job/start_up.h"
#include "horovodpp/runtime/settings/interruptible.h"
#include "horovodpp/transport/tcp/card.h"

namespace hvd::runtime {
namespace {

using transport::Admission;
using transport::kind_of;
using transport::MeetingMessage;
using transport::message_of;
using transport::numbers_of;
using transport::RoomGuest;

// Rank 0 of an elastic job starts at most this much later where the room is
// gone.
constexpr std::chrono::seconds kWatchTimeout(1);

absl::Status never() { return absl::OkStatus(); }

// The settings of a grown job: process sets name ranks of the first one, and
// nothing is measured, because ranks want to go on.
Config grown(Config config, const Admission& admission) {
  config.rank = admission.rank;
  config.expected_size = admission.size;
  config.process_sets.clear();
  config.unsupported.clear();  // Already logged.
  config.measure_crossovers = false;
  return config;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RoomGuest>> Growth::enter_room(
    int rank, std::chrono::nanoseconds timeout) {
  HVD_ASSIGN_OR_RETURN(const RoomGuest::Server server, room_of(config_));
  return RoomGuest::connect(server, rank, deadline_after(timeout));
}

void Growth::watch_through(std::unique_ptr<RoomGuest> guest) {
  guest_ = std::move(guest);
  guest_->send(message_of(MeetingMessage::kWatch));
}

void Growth::watch(telemetry::Log& log) {
  MutexLock lock(mutex_);
  if (config_.max_ranks == 0 || guest_ != nullptr) return;
  auto guest = enter_room(0, kWatchTimeout);
  if (guest.ok()) return watch_through(*std::move(guest));
  log.warning(absl::StrCat("the job cannot grow: ", guest.status().message()));
}

void Growth::withdraw() {
  MutexLock lock(mutex_);
  if (guest_ != nullptr) guest_->send(message_of(MeetingMessage::kWithdraw));
}

void Growth::note(const std::string& message) {
  if (kind_of(message) == MeetingMessage::kDissolved) {
    dissolved_ = absl::UnavailableError(transport::text_in(message));
  }
  if (kind_of(message) != MeetingMessage::kWaiting) return;
  const auto numbers = transport::numbers_in(message, 1);
  if (numbers.ok()) waiting_ = static_cast<int>(numbers->front());
}

absl::Status Growth::hear_of_end() {
  while (dissolved_.ok()) {
    auto message = guest_->receive();
    if (!message.ok()) return message.status();
    if (!message->has_value()) break;
    note(**message);
  }
  return dissolved_;
}

std::vector<int> Growth::numbers() {
  MutexLock lock(mutex_);
  return numbers_;
}

int Growth::waiting() {
  MutexLock lock(mutex_);
  while (guest_ != nullptr) {
    const auto message = guest_->receive();
    if (!message.ok()) {
      guest_.reset();
      waiting_ = 0;
      break;
    }
    if (!message->has_value()) break;
    note(**message);
  }
  return waiting_;
}

absl::StatusOr<Admission> Growth::admit(int ranks) {
  MutexLock lock(mutex_);
  if (config_.max_ranks == 0) return Admission();
  if (guest_ == nullptr) {
    HVD_ASSIGN_OR_RETURN(std::unique_ptr<RoomGuest> guest,
                         enter_room(0, config_.start_timeout));
    watch_through(std::move(guest));
  }
  guest_->send(numbers_of(MeetingMessage::kAdmit,
                          {static_cast<std::uint32_t>(ranks),
                           static_cast<std::uint32_t>(config_.max_ranks)}));
  const auto deadline = deadline_after(config_.start_timeout);
  const auto in_time = [deadline]() -> absl::Status {
    if (std::chrono::steady_clock::now() < deadline) return absl::OkStatus();
    return absl::UnavailableError("the meeting server does not answer");
  };
  while (true) {
    absl::StatusOr<std::string> message = guest_->wait(in_time);
    if (!message.ok()) {
      guest_.reset();
      return message.status();
    }
    if (kind_of(*message) == MeetingMessage::kAdmitted) {
      dissolved_ = absl::OkStatus();  // An earlier growth was.
      return transport::admission_in(*message);
    }
    note(*message);
  }
}

absl::StatusOr<std::unique_ptr<Job>> Growth::start(const Admission& admission,
                                                   const Interrupt& interrupt,
                                                   const Job::Kept* kept) {
  HVD_RETURN_IF_ERROR(pass_failpoint(Failpoint::kGrowAdmitted));
  Config config = grown(config_, admission);
  if (kept != nullptr) config.timeline.clear();  // Goes on.
  HVD_ASSIGN_OR_RETURN(
      std::unique_ptr<transport::Communicator> wires,
      make_grown_communicator(config, admission.number, interrupt));
  HVD_RETURN_IF_ERROR(pass_failpoint(Failpoint::kGrowMet));
  HVD_ASSIGN_OR_RETURN(const std::vector<std::string> told,
                       wires->exchange(absl::StrCat(config_.rank),
                                       deadline_after(config_.start_timeout)));
  numbers_.assign(told.size(), -1);
  for (std::size_t i = 0; i < told.size(); ++i) {
    static_cast<void>(absl::SimpleAtoi(told[i], &numbers_[i]));
  }
  HVD_ASSIGN_OR_RETURN(std::unique_ptr<Job> job,
                       kept == nullptr
                           ? Job::start(config, std::move(wires))
                           : Job::start(config, std::move(wires), *kept));
  pass_failpoint(Failpoint::kGrowStarted).IgnoreError();
  return job;
}

absl::StatusOr<std::unique_ptr<Job>> Growth::await_others(
    absl::StatusOr<std::unique_ptr<Job>> job, const Interrupt& still_wanted) {
  guest_->send(message_of(job.ok() ? MeetingMessage::kStarted
                                   : MeetingMessage::kWithdraw));
  bool withdraws = !job.ok();
  const auto or_withdraw = [&]()
                               ABSL_NO_THREAD_SAFETY_ANALYSIS -> absl::Status {
    if (withdraws || still_wanted().ok()) return absl::OkStatus();
    // Only the room knows whether it is too late for that.
    withdraws = true;
    guest_->send(message_of(MeetingMessage::kWithdraw));
    return absl::OkStatus();
  };
  while (dissolved_.ok()) {
    const absl::StatusOr<std::string> message = guest_->wait(or_withdraw);
    if (!message.ok()) {
      guest_.reset();
      dissolved_ = absl::UnavailableError(message.status().message());
    } else if (kind_of(*message) == MeetingMessage::kFormed) {
      pass_failpoint(Failpoint::kGrowFormed).IgnoreError();
      return job;
    } else {
      note(*message);
    }
  }
  const absl::Status why = std::exchange(dissolved_, absl::OkStatus());
  // All members get this, and would get it again.
  if (absl::IsInvalidArgument(job.status())) return job;
  if (!job.ok()) {
    return absl::UnavailableError(
        absl::StrCat("the job has not grown: ", why.message(),
                     " (this one: ", job.status().message(), ")"));
  }
  (*job)->abort("belongs to a growth that was given up");
  (*job)->stop().IgnoreError();
  return annotate(why, "the job has not grown");
}

absl::StatusOr<std::unique_ptr<Job>> Growth::grow(const Admission& admission,
                                                  const Job& old) {
  MutexLock lock(mutex_);
  if (admission.rank != 0) {
    HVD_ASSIGN_OR_RETURN(guest_,
                         enter_room(admission.rank, config_.start_timeout));
    guest_->send(numbers_of(MeetingMessage::kPledge, {admission.number}));
  }
  const Interrupt interrupt = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    HVD_RETURN_IF_ERROR(old.status());
    return hear_of_end();
  };
  const Job::Kept kept = old.kept();
  absl::StatusOr<std::unique_ptr<Job>> job = await_others(
      start(admission, interrupt, &kept), [&old] { return old.status(); });
  // Only rank 0 watches the room.
  if (admission.rank != 0) guest_.reset();
  return job;
}

absl::StatusOr<Admission> Growth::wait_to_be_admitted() {
  const auto unless_interrupted = [] {
    return Interruptible::is_interrupted()
               ? absl::CancelledError("a signal has ended the wait for the job")
               : absl::OkStatus();
  };
  guest_->send(message_of(MeetingMessage::kWait));
  while (true) {
    absl::StatusOr<std::string> message = guest_->wait(unless_interrupted);
    if (absl::IsUnavailable(message.status())) {
      return absl::CancelledError(
          "the job has ended before this process could join it");
    }
    HVD_RETURN_IF_ERROR(message.status());
    if (kind_of(*message) == MeetingMessage::kAdmitted) {
      return transport::admission_in(*message);
    }
  }
}

absl::StatusOr<std::unique_ptr<Job>> Growth::join() {
  MutexLock lock(mutex_);
  HVD_ASSIGN_OR_RETURN(guest_, enter_room(config_.rank, config_.start_timeout));
  const LauncherChannel launcher(config_.launcher);
  const Interrupt interrupt = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return hear_of_end();
  };
  while (true) {
    HVD_ASSIGN_OR_RETURN(const Admission admission, wait_to_be_admitted());
    launcher.joining();
    absl::StatusOr<std::unique_ptr<Job>> job =
        await_others(start(admission, interrupt, nullptr), never);
    if (job.ok()) {
      guest_.reset();
      launcher.connected();
      return job;
    }
    // Ranks that disagree on settings would disagree again.
    if (absl::IsInvalidArgument(job.status())) return job;
    if (guest_ != nullptr) continue;
    HVD_ASSIGN_OR_RETURN(guest_,
                         enter_room(config_.rank, config_.start_timeout));
  }
}

}  // namespace hvd::runtime
