// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/options/completion.h"

#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "horovodrun/options/option.h"

namespace hvd::launcher {
namespace {

using Names = std::vector<absl::string_view>;

bool is_offered(const Option& option) {
  return !option.hidden && option.effect != Effect::kRefused;
}

bool takes_value(const Option& option) {
  return option.type != ValueType::kFlag;
}

// The names of all offered options of which `test` is true.
Names names_where(const std::function<bool(const Option&)>& test) {
  Names all;
  for (const Option* option : all_options()) {
    if (!is_offered(*option) || !test(*option)) continue;
    for (const absl::string_view name : names_of(*option)) all.push_back(name);
  }
  return all;
}

// A branch of the function for bash: how to complete the values of `names`.
std::string branch(const Names& names, const std::string& how) {
  return absl::StrCat("    ", absl::StrJoin(names, "|"), ")\n      ", how,
                      "\n      return ;;\n");
}

// The actions of zsh for a value.
std::string zsh_action(const Option& option) {
  switch (option.type) {
    case ValueType::kFile:
      return "_files";
    case ValueType::kChoice:
      return absl::StrCat("(", option.choices, ")");
    default:
      return "";
  }
}

std::string zsh_quoted(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"'", "'\\''"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}});
}

}  // namespace

std::string bash_completion() {
  std::string branches = branch(names_where([](const Option& option) {
                                  return option.type == ValueType::kFile;
                                }),
                                "COMPREPLY=($(compgen -f -- \"$word\"))");
  for (const Option* option : all_options()) {
    if (option->type != ValueType::kChoice || !is_offered(*option)) continue;
    absl::StrAppend(&branches,
                    branch(names_of(*option),
                           absl::StrCat("COMPREPLY=($(compgen -W '",
                                        option->choices, "' -- \"$word\"))")));
  }
  absl::StrAppend(&branches, branch(names_where(takes_value), "COMPREPLY=()"));
  return absl::StrCat(
      "# Completes the options of horovodrun in bash:\n"
      "#   source <(horovodrun --completion bash)\n"
      "_horovodrun() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} at=1 option=\n"
      "  COMPREPLY=()\n"
      "  # Find the option whose value is completed, or the command.\n"
      "  while ((at < COMP_CWORD)); do\n"
      "    option=${COMP_WORDS[at]}\n"
      "    case $option in\n"
      "    ",
      absl::StrJoin(names_where(takes_value), "|"),
      ") ((at += 2)) ;;\n"
      "    -*) option= && ((at += 1)) ;;\n"
      "    *)\n"
      "      if declare -F _command_offset >/dev/null; then\n"
      "        _command_offset \"$at\"\n"
      "      else\n"
      "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
      "      fi\n"
      "      return ;;\n"
      "    esac\n"
      "  done\n"
      "  ((at > COMP_CWORD)) || option=\n"
      "  case $option in\n",
      branches,
      "  esac\n"
      "  if [[ $word == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W '",
      absl::StrJoin(names_where([](const Option&) { return true; }), " "),
      "' -- \"$word\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -c -- \"$word\") $(compgen -f -- \"$word\"))\n"
      "  fi\n"
      "}\n"
      "complete -o filenames -F _horovodrun horovodrun\n");
}

std::string zsh_completion() {
  std::string script =
      "#compdef horovodrun\n"
      "# Completes the options of horovodrun in zsh:\n"
      "#   source <(horovodrun --completion zsh)\n"
      "_horovodrun() {\n"
      "  _arguments -S \\\n";
  for (const Option* option : all_options()) {
    if (!is_offered(*option)) continue;
    const std::string value = takes_value(*option)
                                  ? absl::StrCat(":", zsh_quoted(option->value),
                                                 ":", zsh_action(*option))
                                  : "";
    for (const absl::string_view name : names_of(*option)) {
      absl::StrAppend(&script, "    '", option->adds_up ? "*" : "", name, "[",
                      zsh_quoted(option->help), "]", value, "' \\\n");
    }
  }
  absl::StrAppend(&script,
                  "    '(-)1:command:_command_names -e' \\\n"
                  "    '*::arguments:_normal'\n"
                  "}\n"
                  "compdef _horovodrun horovodrun\n");
  return script;
}

}  // namespace hvd::launcher
