#include "lumen/apps/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>

#include "lumen/apps/app.h"
#include "lumen/base/error.h"

namespace lumen {

namespace fs = std::filesystem;

struct Option::State {
  CLI::Option* parsed;
  OptionFacts facts;
};

Option::Option(std::unique_ptr<State> state) : state_(std::move(state)) {}
Option::~Option() = default;

Option& Option::Required() {
  state_->parsed->required();
  state_->facts.required = true;
  return *this;
}

Option& Option::ShowDefault() {
  state_->parsed->capture_default_str();
  state_->facts.default_value = state_->parsed->get_default_str();
  return *this;
}

// Two kinds of range, since "1.5" is no number between 1 and 100 where whole ones are meant.
Option& Option::Within(int least, int most) {
  state_->parsed->check(CLI::Range(least, most));
  state_->facts.limits = StrCat(least, " to ", most);
  return *this;
}

Option& Option::Within(double least, double most) {
  state_->parsed->check(CLI::Range(least, most));
  state_->facts.limits = StrCat(FormatDouble(least), " to ", FormatDouble(most));
  return *this;
}

Option& Option::Positive() {
  state_->parsed->check(CLI::PositiveNumber);
  state_->facts.limits = "above 0";
  return *this;
}

Option& Option::NotNegative() {
  state_->parsed->check(CLI::NonNegativeNumber);
  state_->facts.limits = "0 or more";
  return *this;
}

Option& Option::OneOf(const std::vector<std::string>& choices) {
  state_->parsed->check(CLI::IsMember(choices));
  state_->facts.choices = choices;
  return *this;
}

Option& Option::Hint(const std::vector<std::string>& values) {
  state_->facts.hints = values;
  return *this;
}

Option& Option::MayStandAlone(const std::string& value) {
  state_->parsed->expected(0, 1)->default_str(value)->option_text("[TEXT]");
  return *this;
}

Option& Option::SplitAt(char separator) {
  state_->parsed->delimiter(separator);
  return *this;
}

struct Command::State {
  std::unique_ptr<CLI::App> root;  // of the program; it owns the parsers of all commands
  CLI::App* parser = nullptr;
  std::vector<std::unique_ptr<Option>> options;
  std::vector<std::unique_ptr<Command>> commands;
  bool hidden = false;

  // `sample` tells what kind of value it is.
  static ValueKind KindOf(const std::string&) { return ValueKind::kText; }
  static ValueKind KindOf(const fs::path&) { return ValueKind::kPath; }
  static ValueKind KindOf(double) { return ValueKind::kNumber; }

  Option& Keep(CLI::Option* parsed, ValueKind kind, bool repeats);
  template <typename Value>
  Option& AddOne(const std::string& name, Value& value, const std::string& help);
  template <typename Value>
  Option& AddMany(const std::string& name, std::vector<Value>& values, const std::string& help);
};

Option& Command::State::Keep(CLI::Option* parsed, ValueKind kind, bool repeats) {
  OptionFacts facts;
  facts.help = parsed->get_description();
  facts.kind = kind;
  facts.repeats = repeats;
  facts.is_argument = parsed->get_positional();
  if (facts.is_argument) facts.names.push_back(parsed->get_name(true));
  for (const std::string& name : parsed->get_snames()) facts.names.push_back("-" + name);
  for (const std::string& name : parsed->get_lnames()) facts.names.push_back("--" + name);
  auto state = std::make_unique<Option::State>(Option::State{parsed, std::move(facts)});
  options.push_back(std::unique_ptr<Option>(new Option(std::move(state))));
  return *options.back();
}

template <typename Value>
Option& Command::State::AddOne(const std::string& name, Value& value, const std::string& help) {
  return Keep(parser->add_option(name, value, help), KindOf(value), false);
}

template <typename Value>
Option& Command::State::AddMany(const std::string& name, std::vector<Value>& values,
                                const std::string& help) {
  return Keep(parser->add_option(name, values, help)->take_all(), KindOf(Value()), true);
}

Command::Command(std::unique_ptr<State> state) : state_(std::move(state)) {
  state_->Keep(state_->parser->get_help_ptr(), ValueKind::kNone, false);
}

Command::Command(const std::string& name, const std::string& help) : state_(std::make_unique<State>()) {
  state_->root = std::make_unique<CLI::App>(help, name);
  state_->parser = state_->root.get();
  state_->parser->fallthrough();  // the program's own options may stand behind a command, too
  state_->Keep(state_->parser->get_help_ptr(), ValueKind::kNone, false);
}

Command::~Command() = default;

Command& Command::AddCommand(const std::string& name, const std::string& help) {
  auto state = std::make_unique<State>();
  state->parser = state_->parser->add_subcommand(name, help);
  state_->commands.push_back(std::unique_ptr<Command>(new Command(std::move(state))));
  return *state_->commands.back();
}

void Command::Listed(const std::string& heading, std::initializer_list<void (*)(Command&)> add) {
  for (const auto each : add) {
    each(*this);
    state_->commands.back()->state_->parser->group(heading);
  }
}

void Command::Hide() {
  state_->hidden = true;
  state_->parser->group("");
}

void Command::RequireCommand() { state_->parser->require_subcommand(1); }

Option& Command::Add(const std::string& name, std::string& value, const std::string& help) {
  return state_->AddOne(name, value, help);
}
Option& Command::Add(const std::string& name, fs::path& value, const std::string& help) {
  return state_->AddOne(name, value, help);
}
Option& Command::Add(const std::string& name, int& value, const std::string& help) {
  return state_->AddOne(name, value, help);
}
Option& Command::Add(const std::string& name, int64_t& value, const std::string& help) {
  return state_->AddOne(name, value, help);
}
// The parser would take "-1" for the largest number there is.
Option& Command::Add(const std::string& name, uint64_t& value, const std::string& help) {
  return state_->AddOne(name, value, help).NotNegative();
}
Option& Command::Add(const std::string& name, double& value, const std::string& help) {
  Option& option = state_->AddOne(name, value, help);
  // Ranges do not catch it: it is neither below nor above anything.
  option.state_->parsed->check([](const std::string& text) {
    const auto number = ParseDouble(text);
    return number && std::isnan(*number) ? StrCat("\"", text, "\" is not a number") : std::string();
  });
  return option;
}
Option& Command::Add(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  return state_->AddMany(name, values, help);
}
Option& Command::Add(const std::string& name, std::vector<fs::path>& values, const std::string& help) {
  return state_->AddMany(name, values, help);
}

void Command::AddFlag(const std::string& name, bool& value, const std::string& help) {
  state_->Keep(state_->parser->add_flag(name, value, help), ValueKind::kNone, false);
}

void Command::AddAnswer(const std::string& name, const std::string& text, const std::string& help) {
  const auto answer = [text] {
    std::cout << text;
    throw CLI::Success();
  };
  state_->Keep(state_->parser->add_flag_callback(name, answer, help), ValueKind::kNone, false);
}

void Command::Do(std::function<void()> work) { state_->parser->callback(std::move(work)); }

void Command::DoFirst(std::function<void()> work) {
  state_->parser->parse_complete_callback(std::move(work));
}

bool Command::Given(const std::string& option) const { return state_->parser->count(option) > 0; }

std::vector<GivenOption> Command::AllGiven() const {
  std::vector<GivenOption> given;
  for (const auto& option : state_->options) {
    const OptionFacts& facts = option->state_->facts;
    if (facts.is_argument || option->state_->parsed->count() == 0) continue;
    const bool flag = facts.kind == ValueKind::kNone;
    given.push_back({facts.names.back(), facts.kind,
                     flag ? std::vector<std::string>() : option->state_->parsed->results()});
  }
  return given;
}

// What was written where a command, or one of its options, must stand, with what may have been meant; or why
// the rest of it cannot be understood.
std::string Command::WhatIsWrong(int argc, const char* const* argv, const std::string& otherwise) const {
  const auto suggest = [](const std::string& word, const std::vector<std::string>& known) {
    const auto nearest = NearestName(word, known);
    return nearest && *nearest != word ? StrCat(" (did you mean \"", *nearest, "\"?)") : std::string();
  };
  const Command* command = this;
  std::string called = state_->parser->get_name();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (StartsWith(word, "-")) {
      std::vector<std::string> names;
      for (const Command* each : {this, command})
        for (const auto& option : each->state_->options)
          names.insert(names.end(), option->state_->facts.names.begin(), option->state_->facts.names.end());
      const std::string name = word.substr(0, word.find('='));
      const bool known = std::find(names.begin(), names.end(), name) != names.end();
      const bool option = StartsWith(word, "--") && word.size() > 2;
      if (!known && option) return StrCat(called, " has no option ", name, suggest(name, names));
    } else if (!command->state_->commands.empty()) {
      std::vector<std::string> names;
      const Command* meant = nullptr;
      for (const auto& each : command->state_->commands) {
        const std::string name = each->state_->parser->get_name();
        if (name == word) meant = each.get();
        if (!each->state_->hidden) names.push_back(name);
      }
      if (meant == nullptr)
        return StrCat(called, " has no command \"", Printable(word), "\"", suggest(word, names));
      command = meant;
      called += " " + word;
    }
  }
  return otherwise;
}

void Command::ParseAndRun(int argc, const char* const* argv) {
  if (argc == 1) {
    std::cout << state_->parser->help();
    throw ExitRequest{kBadInput};
  }
  try {
    state_->parser->parse(argc, argv);  // does the work, too
  } catch (const CLI::Success& answer) {
    state_->parser->exit(answer);  // --help, --version and their like are no errors
  } catch (const CLI::ParseError& error) {
    throw InputError(
        StrCat(WhatIsWrong(argc, argv, error.what()), "; see ", state_->parser->get_name(), " --help"));
  }
}

void Command::Parse(std::vector<std::string> arguments) {
  std::reverse(arguments.begin(), arguments.end());  // as the parser wants them
  try {
    state_->parser->parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    throw InputError(error.what());
  }
}

CommandFacts Command::Facts() const {
  CommandFacts facts = {state_->parser->get_name(), state_->parser->get_description(), {}, {}};
  for (const auto& option : state_->options) facts.options.push_back(option->state_->facts);
  for (const auto& command : state_->commands)
    if (!command->state_->hidden) facts.commands.push_back(command->Facts());
  return facts;
}

}  // namespace lumen
