// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/system/failpoints.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/mutex.h"

namespace hvd {
namespace {

constexpr std::size_t kPlaces = static_cast<std::size_t>(Failpoint::kCount);
constexpr std::array<const char*, kPlaces> kNames = {
    "init.meeting",   "init.met",          "reform.begun",    "reform.agreed",
    "reform.started", "grow.admitted",     "grow.met",        "grow.started",
    "grow.formed",    "collective.begun",  "stream.send",     "snapshot.write",
    "snapshot.part",  "snapshot.manifest", "snapshot.rename", "snapshot.clean"};

struct Action {
  enum class Kind { kKill, kStop, kExit, kDelay, kError };
  Kind kind = Kind::kKill;
  int value = 0;  // Exit code, or milliseconds.
};

struct Entry {
  Failpoint place = Failpoint::kInitMeeting;
  Action action{};
  std::int64_t pass = 0;  // 0: each.
  double probability = 1;
  std::optional<int> rank{};  // nullopt: all.
};

struct Schedule {
  Mutex mutex;
  std::vector<Entry> entries ABSL_GUARDED_BY(mutex);
  std::array<std::int64_t, kPlaces> passes ABSL_GUARDED_BY(mutex) = {};
  std::mt19937_64 random ABSL_GUARDED_BY(mutex);
};

Schedule& schedule() {
  static Schedule* const instance = new Schedule;
  return *instance;
}

absl::Status unreadable(absl::string_view entry, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("HOROVODPP_FAILPOINTS: '", entry, "' ", why));
}

std::optional<Failpoint> place_of(absl::string_view name) {
  for (std::size_t i = 0; i < kPlaces; ++i) {
    if (name == kNames[i]) return static_cast<Failpoint>(i);
  }
  return std::nullopt;
}

std::optional<Action> action_of(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  Action action;
  const bool has_value =
      absl::SimpleAtoi(parts.second, &action.value) && action.value >= 0;
  if (parts.first == "exit" || parts.first == "delay") {
    if (!has_value) return std::nullopt;
    action.kind =
        parts.first == "exit" ? Action::Kind::kExit : Action::Kind::kDelay;
    return action;
  }
  if (text == "kill") return action;
  if (text == "stop") return Action{.kind = Action::Kind::kStop};
  if (text == "error") return Action{.kind = Action::Kind::kError};
  return std::nullopt;
}

absl::StatusOr<Entry> entry_of(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  Entry entry;
  const auto place = place_of(parts.first);
  if (!place) {
    return unreadable(text, absl::StrCat("names no failpoint; there are ",
                                         absl::StrJoin(kNames, ", ")));
  }
  entry.place = *place;
  absl::string_view rest = parts.second;
  while (true) {
    const std::size_t at = rest.find_last_of("@%#");
    if (at == absl::string_view::npos) break;
    const char mark = rest[at];
    const absl::string_view value = rest.substr(at + 1);
    rest = rest.substr(0, at);
    int number = 0;
    const bool read = mark == '%'
                          ? absl::SimpleAtod(value, &entry.probability)
                          : absl::SimpleAtoi(value, &number) && number >= 0;
    if (!read || entry.probability < 0 || entry.probability > 1) {
      return unreadable(
          text, absl::StrCat("has no number after ", std::string(1, mark)));
    }
    if (mark == '@') entry.pass = number;
    if (mark == '#') entry.rank = number;
  }
  const auto action = action_of(rest);
  if (!action) {
    return unreadable(
        text,
        "has no action: kill, stop, exit:CODE, delay:MILLISECONDS, error");
  }
  entry.action = *action;
  return entry;
}

absl::Status act(const Action& action, Failpoint place) {
  switch (action.kind) {
    case Action::Kind::kKill:
      ::kill(::getpid(), SIGKILL);
      ::pause();
      break;
    case Action::Kind::kStop:
      ::kill(::getpid(), SIGSTOP);
      break;
    case Action::Kind::kExit:
      ::_exit(action.value);
    case Action::Kind::kDelay:
      std::this_thread::sleep_for(std::chrono::milliseconds(action.value));
      break;
    case Action::Kind::kError:
      return absl::InternalError(
          absl::StrCat("the failpoint ", name_of(place), " is set"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> schedule_in(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    return absl::NotFoundError(absl::StrCat("HOROVODPP_FAILPOINTS: the file '",
                                            path, "' cannot be read"));
  }
  return std::move(text).str();
}

}  // namespace

const char* name_of(Failpoint place) {
  return kNames[static_cast<std::size_t>(place)];
}

absl::Status set_failpoints(std::string_view text, int rank) {
  std::string schedule_text(text);
  if (!text.empty() && text[0] == '@') {
    HVD_ASSIGN_OR_RETURN(schedule_text, schedule_in(schedule_text.substr(1)));
  }
  std::vector<Entry> entries;
  std::uint64_t seed = 0;
  for (absl::string_view part :
       absl::StrSplit(schedule_text, absl::ByAnyChar(";\n"))) {
    part = absl::StripAsciiWhitespace(part);
    if (part.empty() || part[0] == '#') continue;
    if (absl::string_view value = part; absl::ConsumePrefix(&value, "seed=")) {
      if (!absl::SimpleAtoi(value, &seed)) {
        return unreadable(part, "has no number");
      }
      continue;
    }
    HVD_ASSIGN_OR_RETURN(Entry entry, entry_of(part));
    if (entry.rank.value_or(rank) == rank) entries.push_back(entry);
  }
  Schedule& all = schedule();
  MutexLock lock(all.mutex);
  failpoints::are_set.store(!entries.empty());
  all.entries = std::move(entries);
  all.passes = {};
  all.random.seed(seed + static_cast<std::uint64_t>(rank));
  return absl::OkStatus();
}

namespace failpoints {

std::atomic<bool> are_set{false};

absl::Status pass(Failpoint place) {
  std::vector<Action> actions;
  {
    Schedule& all = schedule();
    MutexLock lock(all.mutex);
    const std::int64_t number = ++all.passes[static_cast<std::size_t>(place)];
    for (const Entry& entry : all.entries) {
      if (entry.place != place) continue;
      if (entry.pass != 0 && entry.pass != number) continue;
      if (entry.probability < 1 && std::uniform_real_distribution<double>()(
                                       all.random) >= entry.probability) {
        continue;
      }
      actions.push_back(entry.action);
    }
  }
  for (const Action& action : actions) {
    HVD_RETURN_IF_ERROR(act(action, place));
  }
  return absl::OkStatus();
}

}  // namespace failpoints
}  // namespace hvd
