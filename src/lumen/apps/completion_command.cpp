#include <iostream>

#include "lumen/apps/app.h"
#include "lumen/base/error.h"

namespace lumen {

namespace {

// A command with the words that lead to it: "", "run", "study", "study suite".
struct Place {
  std::string path;
  const CommandFacts* command;
};

void CollectPlaces(const std::string& path, const CommandFacts& command, std::vector<Place>& places) {
  places.push_back({path, &command});
  for (const CommandFacts& below : command.commands)
    CollectPlaces(path.empty() ? below.name : path + " " + below.name, below, places);
}

std::vector<Place> AllPlaces(const CommandFacts& program) {
  std::vector<Place> places;
  CollectPlaces("", program, places);
  return places;
}

std::string Join(const std::vector<std::string>& words, const std::string& separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

// The text between single quotes; `quote` is how the shell writes one inside.
std::string Quote(const std::string& text, const std::string& quote, const std::string& escaped = "") {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += quote;
    } else {
      if (escaped.find(c) != std::string::npos) out += '\\';
      out += c;
    }
  }
  return out + "'";
}

// What may stand for the option's value; empty: a file, or anything.
const std::vector<std::string>& Values(const OptionFacts& option) {
  return option.choices.empty() ? option.hints : option.choices;
}

std::string Replace(std::string text, const std::string& what, const std::string& with) {
  const size_t at = text.find(what);
  LUMEN_CHECK(at != std::string::npos, "no ", what);
  return text.replace(at, what.size(), with);
}

// Lines of a shell's case statement that lead from "command:word" to the command the words name.
std::string FormatSteps(const CommandFacts& program, const std::string& before, const std::string& middle,
                        const std::string& after) {
  std::string steps;
  for (const Place& place : AllPlaces(program)) {
    for (const CommandFacts& below : place.command->commands) {
      const std::string path = place.path.empty() ? below.name : place.path + " " + below.name;
      steps += StrCat(before, "'", place.path, ":", below.name, "'", middle, "'", path, "'", after, "\n");
    }
  }
  return steps;
}

constexpr const char* kBash = R"(# Completion of lumen in bash: source this, or keep it as
# ~/.local/share/bash-completion/completions/lumen
_lumen() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command='' words='' options='' values='' anything='' i
  # --name=value comes as three words.
  if [[ $current == = ]]; then
    current=''
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$command:${COMP_WORDS[i]}" in
@STEPS@    esac
  done
  case $command in
@PLACES@  esac
  COMPREPLY=()
  if [[ -n $anything ]]; then return; fi
  if [[ -n $values ]]; then
    words=$values
  elif [[ $current == -* ]]; then
    words=$options
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ ${COMPREPLY-} == *= ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -o default -F _lumen lumen
)";

std::string FormatBashPlace(const Place& place) {
  std::vector<std::string> words, options, free;
  std::string values;
  for (const CommandFacts& below : place.command->commands) words.push_back(below.name);
  for (const OptionFacts& option : place.command->options) {
    const std::vector<std::string>& known = Values(option);
    if (option.is_argument) {
      words.insert(words.end(), known.begin(), known.end());
      continue;
    }
    options.insert(options.end(), option.names.begin(), option.names.end());
    if (option.kind == ValueKind::kNone) continue;
    if (known.empty()) {
      free.insert(free.end(), option.names.begin(), option.names.end());
    } else {
      values += StrCat("        ", Join(option.names, " | "), ") values='", Join(known, " "), "' ;;\n");
    }
  }
  if (!free.empty()) values += StrCat("        ", Join(free, " | "), ") anything=yes ;;\n");
  if (!values.empty()) values = StrCat("      case $previous in\n", values, "      esac\n");
  return StrCat("    '", place.path, "')\n      words='", Join(words, " "), "'\n      options='",
                Join(options, " "), "'\n", values, "      ;;\n");
}

std::string FormatBash(const CommandFacts& program) {
  std::string places;
  for (const Place& place : AllPlaces(program)) places += FormatBashPlace(place);
  return Replace(Replace(kBash, "@STEPS@", FormatSteps(program, "      ", ") command=", " ;;")), "@PLACES@",
                 places);
}

constexpr const char* kZsh = R"(#compdef lumen
# Completion of lumen in zsh: keep it as _lumen in a folder of $fpath, or source it after compinit.
_lumen() {
  local command='' i
  local -a commands
  for ((i = 2; i < CURRENT; ++i)); do
    case "$command:$words[i]" in
@STEPS@    esac
  done
  case $command in
@PLACES@  esac
}
if [[ $funcstack[1] == _lumen ]]; then
  _lumen "$@"
else
  compdef _lumen lumen
fi
)";

std::string QuoteForZsh(const std::string& text) { return Quote(text, R"('\'')"); }

// How zsh completes the option's value.
std::string FormatZshAction(const OptionFacts& option) {
  const std::vector<std::string>& known = Values(option);
  if (known.empty()) return option.kind == ValueKind::kNumber ? " " : "_files";
  if (EndsWith(known.front(), "=")) return StrCat("{compadd -S \"\" -- ", Join(known, " "), "}");
  return StrCat("(", Join(known, " "), ")");
}

std::string FormatZshOption(const OptionFacts& option) {
  if (option.is_argument)
    return QuoteForZsh(StrCat("*:", option.names.front(), ":", FormatZshAction(option)));
  std::string help;
  for (const char c : option.help)
    help += std::string(StrCat("[]:\\").find(c) != std::string::npos ? "\\" : "") + c;
  std::vector<std::string> specs;
  for (const std::string& name : option.names) {
    const std::string others = option.repeats ? "*" : StrCat("(", Join(option.names, " "), ")");
    const bool takes_value = option.kind != ValueKind::kNone;
    specs.push_back(QuoteForZsh(StrCat(others, name, takes_value ? "=" : "", "[", help, "]",
                                       takes_value ? ":value:" + FormatZshAction(option) : "")));
  }
  return Join(specs, " \\\n        ");
}

std::string FormatZshPlace(const Place& place) {
  std::vector<std::string> specs;
  const OptionFacts* argument = nullptr;
  for (const OptionFacts& option : place.command->options) {
    // One entry stands for all arguments: the command's own words count as such, too.
    if (!option.is_argument) {
      specs.push_back(FormatZshOption(option));
    } else if (argument == nullptr) {
      argument = &option;
    }
  }
  std::string commands;
  for (const CommandFacts& below : place.command->commands)
    commands += StrCat(" \\\n        ", QuoteForZsh(below.name + ":" + below.help));
  if (!commands.empty()) {
    commands = StrCat("      commands=(", commands, ")\n");
    specs.push_back("'*:command:{_describe command commands}'");
  } else if (argument != nullptr) {
    specs.push_back(FormatZshOption(*argument));
  }
  return StrCat("    '", place.path, "')\n", commands, "      _arguments \\\n        ",
                Join(specs, " \\\n        "), "\n      ;;\n");
}

std::string FormatZsh(const CommandFacts& program) {
  std::string places;
  for (const Place& place : AllPlaces(program)) places += FormatZshPlace(place);
  return Replace(Replace(kZsh, "@STEPS@", FormatSteps(program, "      ", ") command=", " ;;")), "@PLACES@",
                 places);
}

constexpr const char* kFish =
    R"(# Completion of lumen in fish: keep it as ~/.config/fish/completions/lumen.fish
function __lumen_at --description 'whether the words so far name this command'
    set -l words (commandline -opc)
    set -l command ''
    set -e words[1]
    for word in $words
        switch "$command:$word"
@STEPS@        end
    end
    test "$command" = "$argv[1]"
end
)";

std::string QuoteForFish(const std::string& text) { return Quote(text, R"(\')", "\\"); }

std::string FormatFishOption(const std::string& start, const OptionFacts& option) {
  const std::vector<std::string>& known = Values(option);
  std::string line = start;
  if (option.is_argument) {
    if (!known.empty()) return StrCat(line, " -f -a ", QuoteForFish(Join(known, " ")), "\n");
    return "";  // files, as fish does anyway
  }
  for (const std::string& name : option.names)
    line += StartsWith(name, "--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!known.empty()) {
    line += StrCat(" -x -a ", QuoteForFish(Join(known, " ")));
  } else if (option.kind != ValueKind::kNone) {
    line += option.kind == ValueKind::kNumber ? " -x" : " -r -F";
  }
  return StrCat(line, " -d ", QuoteForFish(option.help), "\n");
}

std::string FormatFish(const CommandFacts& program) {
  std::string text = Replace(kFish, "@STEPS@",
                             FormatSteps(program, "            case ", "\n                set command ", ""));
  for (const Place& place : AllPlaces(program)) {
    const std::string start = StrCat("complete -c lumen -n \"__lumen_at '", place.path, "'\"");
    for (const CommandFacts& below : place.command->commands)
      text += StrCat(start, " -f -a ", below.name, " -d ", QuoteForFish(below.help), "\n");
    for (const OptionFacts& option : place.command->options) text += FormatFishOption(start, option);
    if (!place.command->commands.empty()) text += start + " -f\n";
  }
  return text;
}

std::string FormatCompletion(const CommandFacts& program, const std::string& shell) {
  if (shell == "bash") return FormatBash(program);
  if (shell == "zsh") return FormatZsh(program);
  return FormatFish(program);
}

}  // namespace

void AddCompletionCommand(Command& app) {
  Command& command =
      app.AddCommand("completion", "print a script that completes lumen's words in your shell");
  auto shell = std::make_shared<std::string>();
  command.Add("SHELL", *shell, "bash, zsh or fish").Required().OneOf({"bash", "zsh", "fish"});
  command.Do([&app, shell] { std::cout << FormatCompletion(app.Facts(), *shell); });
}

}  // namespace lumen
