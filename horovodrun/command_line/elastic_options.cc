// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/command_line/elastic_options.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodrun/command_line/words.h"

namespace hvd::launcher {
namespace {

using std::chrono::milliseconds;

constexpr char kScript[] = "--host-discovery-script";

// Sets `time` to the seconds of the option, if it is given.
void read_seconds(const OptionValues& options, const char* name,
                  milliseconds& time) {
  double seconds = 0;
  if (absl::SimpleAtod(options.text(name), &seconds)) {
    time = milliseconds(std::llround(1000 * seconds));
  }
}

absl::StatusOr<Cooldown> read_cooldown(const OptionValues& options) {
  constexpr char kRange[] = "--blacklist-cooldown-range";
  Cooldown cooldown;
  const OptionValue* range = options.find(kRange);
  if (range == nullptr) return cooldown;
  int shortest = 0;
  int longest = 0;
  static_cast<void>(absl::SimpleAtoi(range->words[0], &shortest));
  static_cast<void>(absl::SimpleAtoi(range->words[1], &longest));
  if (shortest > longest) {
    return absl::InvalidArgumentError(
        absl::StrCat(kRange, " is ", shortest, " ", longest,
                     "; give the shorter time first"));
  }
  cooldown.shortest = std::chrono::seconds(shortest);
  cooldown.longest = std::chrono::seconds(longest);
  cooldown.after_any_failure = true;
  return cooldown;
}

bool is_file(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

// The path of a file, blanks included, or the words of a command. As a shell
// would not, takes a name without '/' for a file of the present folder first.
absl::StatusOr<std::vector<std::string>> script_words(const std::string& text) {
  std::vector<std::string> words = {text};
  if (!is_file(text)) {
    HVD_ASSIGN_OR_RETURN(words, split_words(text, kScript));
  }
  if (words.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(kScript, " is '", text, "'; name a program"));
  }
  const bool is_name = words[0].find('/') == std::string::npos;
  if (is_name && is_file(words[0])) words[0].insert(0, "./");
  return words;
}

absl::StatusOr<Discovery> read_discovery(const OptionValues& options) {
  Discovery discovery;
  if (!options.has(kScript)) return discovery;
  if (options.has("--nproc-per-node")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--nproc-per-node and ", kScript,
        " exclude each other: give --slots-per-host, -np and --max-np"));
  }
  HVD_ASSIGN_OR_RETURN(discovery.script, script_words(options.text(kScript)));
  discovery.slots_per_host =
      static_cast<int>(options.count("--slots-per-host", 1));
  return discovery;
}

}  // namespace

const char* elastic_option(const OptionValues& options) {
  constexpr const char* kOptions[] = {
      "--min-np",      "--max-np",          "--spares",
      "--reset-limit", "--elastic-timeout", "--blacklist-cooldown-range",
      kScript};
  const auto given =
      std::find_if(std::begin(kOptions), std::end(kOptions),
                   [&](const char* name) { return options.has(name); });
  return given == std::end(kOptions) ? nullptr : *given;
}

absl::StatusOr<ElasticTerms> read_elastic_terms(const OptionValues& options) {
  ElasticTerms terms;
  terms.spares = static_cast<int>(options.count("--spares", 0));
  terms.most_losses = static_cast<int>(options.count("--reset-limit", -1));
  read_seconds(options, "--elastic-timeout", terms.timeout);
  read_seconds(options, "--shutdown-timeout", terms.leaving_time);
  HVD_ASSIGN_OR_RETURN(terms.cooldown, read_cooldown(options));
  HVD_ASSIGN_OR_RETURN(terms.discovery, read_discovery(options));
  return terms;
}

int least_slots(const OptionValues& options) {
  return static_cast<int>(
      options.count("--min-np", options.count("--num-proc", 1)));
}

absl::Status read_elastic_sizes(const OptionValues& options,
                                Arguments& arguments) {
  ElasticTerms& terms = arguments.elastic;
  const int ranks = arguments.ranks;
  terms.least = static_cast<int>(options.count("--min-np", ranks));
  terms.most = static_cast<int>(
      options.count("--max-np", options.count("--num-proc", ranks)));
  if (terms.least > ranks || terms.most < ranks) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the job starts with ", ranks, " ranks (-np), which must lie between ",
        "--min-np (", terms.least, ") and --max-np (", terms.most, ")"));
  }
  const int wanted = terms.most + terms.spares;
  const bool are_fixed = terms.discovery.script.empty();
  if (are_fixed && !arguments.room.empty() &&
      slots_of(arguments.room) < wanted) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the job may have ", terms.most, " ranks (--max-np) and ", terms.spares,
        " spares, and its hosts have ", slots_of(arguments.room),
        " slots: give them more slots, or lower --max-np or --spares"));
  }
  return absl::OkStatus();
}

absl::Status choose_elastic_engine(const OptionValues& options,
                                   Arguments& arguments) {
  if (arguments.engine.empty()) arguments.engine = "direct";
  if (arguments.engine == "direct") return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      elastic_option(options), " makes the job elastic, and ", arguments.engine,
      " can start no ranks in a running job: leave out --mpi and --launcher, "
      "or give --no-mpi"));
}

}  // namespace hvd::launcher
