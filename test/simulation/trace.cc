// SPDX-License-Identifier: Apache-2.0
#include "test/simulation/simulated_rank.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/coordinator/protocol/message.h"

namespace hvd::simulation {
namespace {

using namespace coordinator;  // The names of all messages.

std::string describe(const Record& record) {
  static constexpr const char* kNames[] = {"run",    "retire", "leave", "join",
                                           "joined", "cycle",  "start", "end"};
  return absl::StrCat(kNames[static_cast<int>(record.kind)], " ", record.id,
                      record.value ? absl::StrCat("/", record.value) : "",
                      record.ends_batch ? ";" : "");
}

std::string describe(const std::vector<std::uint32_t>& ids) {
  return absl::StrJoin(ids, ",");
}

struct Describe {
  std::string operator()(const Propose& m) const {
    return absl::StrCat("Propose ", m.request->key.to_string(), " by ", m.count,
                        m.other ? ", differing" : "");
  }
  std::string operator()(const Outdated& m) const {
    return absl::StrCat("Outdated ", m.id);
  }
  std::string operator()(const Ready& m) const {
    return absl::StrCat("Ready ", describe(m.ids));
  }
  std::string operator()(const Passed& m) const {
    return absl::StrCat("Passed ", describe(m.ids));
  }
  std::string operator()(const Join& m) const {
    return absl::StrCat("Join ", m.process_set);
  }
  std::string operator()(const Joined& m) const {
    return absl::StrCat("Joined ", m.process_set, ", last ", m.last_rank);
  }
  std::string operator()(const Leave& m) const {
    return absl::StrCat("Leave ", m.rank);
  }
  std::string operator()(const AllLeft&) const { return "AllLeft"; }
  std::string operator()(const Stop& m) const {
    return absl::StrCat("Stop ", m.run);
  }
  std::string operator()(const Halted& m) const {
    return absl::StrCat("Halted ", m.run, " entered ", m.entered);
  }
  std::string operator()(const Define& m) const {
    return absl::StrCat("Define ", m.id, " as ", m.request->key.to_string(),
                        m.slot == kNoSlot ? ", once" : "");
  }
  std::string operator()(const Reject& m) const {
    return absl::StrCat("Reject ", m.key.to_string(), ": ", m.why);
  }
  std::string operator()(const Round& m) const {
    return absl::StrCat(
        "Round ",
        absl::StrJoin(m.records, " ", [](std::string* out, const Record& r) {
          absl::StrAppend(out, describe(r));
        }));
  }
  std::string operator()(const Halt& m) const {
    return absl::StrCat("Halt ", m.run);
  }
  std::string operator()(const Closed&) const { return "Closed"; }
  std::string operator()(const Break& m) const {
    return absl::StrCat("Break: ", m.why);
  }
  // Messages without details of interest.
  template <typename M>
  std::string operator()(const M&) const {
    return "a message";
  }
};

const char* name_of(SimulatedRank::State state) {
  switch (state) {
    case SimulatedRank::State::kRunning:
      return "runs";
    case SimulatedRank::State::kClosed:
      return "is closed";
    case SimulatedRank::State::kBroken:
      return "is broken";
    case SimulatedRank::State::kDead:
      break;
  }
  return "is dead";
}

}  // namespace

std::string describe_mail(std::string_view letter) {
  std::string text;
  do {
    const auto envelope = decode_first(letter);
    if (!envelope.ok()) return std::string(envelope.status().message());
    absl::StrAppend(&text, text.empty() ? "" : "; ",
                    std::visit(Describe(), envelope->message));
  } while (!letter.empty());
  return text;
}

std::string describe_rank(int index, const SimulatedRank& rank) {
  std::string text = absl::StrCat("rank ", index, " ", name_of(rank.state), ",",
                                  rank.callers.describe());
  if (rank.meeting) {
    absl::StrAppend(&text, "; in ", rank.meeting->describe());
  }
  return text;
}

}  // namespace hvd::simulation
