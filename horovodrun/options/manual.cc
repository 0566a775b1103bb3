// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/options/manual.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "horovodrun/options/help.h"
#include "horovodrun/options/option.h"

namespace hvd::launcher {
namespace {

constexpr char kDescription[] =
    "horovodrun starts a command once for each rank of a job, on one host or "
    "several, shows the output of the ranks, and passes signals on to them. "
    "The command begins with the first word that is not an option. If a rank "
    "fails, horovodrun ends the other ranks, names the cause in its last line, "
    "and exits with the code of the rank that failed first.";

constexpr char kConfiguration[] =
    "The file of --config-file has keys in sections, such as timeline: with "
    "filename: below it. Each option above that has a key names it as "
    "section.key.";

// Text of man(7): no hyphenation of options, and no request at its beginning.
std::string escaped(absl::string_view text) {
  const std::string safe =
      absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}});
  const bool is_request =
      absl::StartsWith(safe, ".") || absl::StartsWith(safe, "'");
  return is_request ? absl::StrCat("\\&", safe) : safe;
}

std::string key_text(const Option& option) {
  if (*option.key == '\0') return "";
  return absl::StrReplaceAll(option.key, {{"=", ": "}});
}

// All options of a group in the order of the table.
std::vector<const Option*> options_of(OptionGroup group) {
  std::vector<const Option*> options;
  for (const Option* option : all_options()) {
    if (option->group == group && !option->hidden) options.push_back(option);
  }
  return options;
}

template <typename Use>
void for_each_group(const Use& use) {
  for (int group = 0; group <= static_cast<int>(OptionGroup::kAbout); ++group) {
    use(static_cast<OptionGroup>(group));
  }
}

const char* state_of(const Option& option) {
  switch (option.effect) {
    case Effect::kWorks:
      return "works";
    case Effect::kIgnored:
      return "no effect";
    case Effect::kRefused:
      return "refused";
  }
  return "";
}

// Text in a cell of a table.
std::string cell(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"|", "\\|"}});
}

std::string table_row(const Option& option) {
  std::string names;
  for (const absl::string_view name : names_of(option)) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", "`", name, "`");
  }
  if (*option.value != '\0') absl::StrAppend(&names, " ", option.value);
  std::vector<std::string> settings;
  for (const absl::string_view one :
       absl::StrSplit(option.variable, ' ', absl::SkipEmpty())) {
    settings.push_back(absl::StrCat("`", one, "`"));
  }
  const std::string key = key_text(option);
  std::string meaning = option.help;
  if (*option.words != '\0')
    absl::StrAppend(&meaning, ". Here: ", option.words);
  return absl::StrCat("| ", cell(names), " | ", state_of(option), " | ",
                      cell(meaning), " | ", absl::StrJoin(settings, ", "),
                      " | ", key.empty() ? "" : absl::StrCat("`", key, "`"),
                      " |\n");
}

}  // namespace

std::string manual_page() {
  std::string page = absl::StrCat(
      ".TH HOROVODRUN 1 \"\" \"horovodpp\" \"User Commands\"\n.SH NAME\n"
      "horovodrun \\- start the ranks of a job\n.SH SYNOPSIS\n.B horovodrun\n"
      "[options] command [arguments]\n.SH DESCRIPTION\n",
      escaped(kDescription), "\n.SH OPTIONS\n");
  for_each_group([&](OptionGroup group) {
    absl::StrAppend(&page, ".SS ", title_of(group), "\n");
    for (const Option* option : options_of(group)) {
      absl::StrAppend(&page, ".TP\n.B ", escaped(usage_of(*option)), "\n",
                      escaped(explanation_of(*option)), "\n");
      const std::string key = key_text(*option);
      if (!key.empty()) {
        absl::StrAppend(&page, "Key: ", escaped(key), "\n");
      }
    }
  });
  const auto add = [&page](const Example& run) {
    absl::StrAppend(&page, ".TP\n.B ", escaped(run.command), "\n",
                    escaped(run.purpose), "\n");
  };
  absl::StrAppend(&page, ".SH OTHER COMMANDS\n");
  for (const Example& command : kCommands) add(command);
  absl::StrAppend(&page, ".SH FILES\n", escaped(kConfiguration),
                  "\n.SH EXAMPLES\n");
  for (const Example& example : kExamples) add(example);
  return page;
}

std::string options_table() {
  std::string table;
  for_each_group([&](OptionGroup group) {
    absl::StrAppend(&table, table.empty() ? "" : "\n", "### ", title_of(group),
                    "\n\n| option | state | meaning | variable | key |\n"
                    "|---|---|---|---|---|\n");
    for (const Option* option : options_of(group)) {
      absl::StrAppend(&table, table_row(*option));
    }
  });
  return table;
}

}  // namespace hvd::launcher
