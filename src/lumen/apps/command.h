// The command line: what each command is called, takes and does, declared once. The declarations drive
// parsing, the help texts, completion in shells and the manual page. The parser, CLI11, is included by
// command.cpp alone: in every command's file it took more time to compile than all the rest.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace lumen {

// Declarations as data, for those who write about them.
enum class ValueKind { kNone, kNumber, kText, kPath };

struct OptionFacts {
  std::vector<std::string> names;  // "-q", "--quiet"; of an argument its one name, "INPUT"
  std::string help;
  ValueKind kind = ValueKind::kText;
  std::vector<std::string> choices;  // all that is allowed; empty: anything
  std::vector<std::string> hints;    // some of what is allowed
  std::string limits;                // of a number: "1 to 179"
  std::string default_value;         // where it is shown
  bool is_argument = false;          // has a place instead of dashes
  bool required = false;
  bool repeats = false;
};

struct CommandFacts {
  std::string name;
  std::string help;
  std::vector<OptionFacts> options;
  std::vector<CommandFacts> commands;
};

// An option as it was given.
struct GivenOption {
  std::string name;  // "--fov"
  ValueKind kind = ValueKind::kText;
  std::vector<std::string> values;  // none of a flag
};

// What is said about an option after it was added.
class Option {
 public:
  ~Option();
  Option& Required();
  Option& ShowDefault();  // the variable's value now, in the help
  Option& Within(int least, int most);
  Option& Within(double least, double most);
  Option& Positive();
  Option& NotNegative();
  Option& OneOf(const std::vector<std::string>& choices);
  Option& Hint(const std::vector<std::string>& values);  // offered by shells, not checked
  Option& MayStandAlone(const std::string& value);       // without one of its own it means this
  Option& SplitAt(char separator);                       // "a,b" are two values

 private:
  friend class Command;
  struct State;
  explicit Option(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class Command {
 public:
  Command(const std::string& name, const std::string& help);  // the program itself
  ~Command();

  // A command below this one; it lives as long as this one does.
  Command& AddCommand(const std::string& name, const std::string& help);
  void RequireCommand();  // exactly one of those below
  void Hide();            // for programs, not for people: no help, completion or manual names it
  // Commands that are listed under a heading; each of `add` adds one.
  void Listed(const std::string& heading, std::initializer_list<void (*)(Command&)> add);

  // "--name", "--name,-n", or "NAME" for an argument that is known by its place. The variable must live
  // until the work is done; several values go into a vector, which may also be given bit by bit.
  Option& Add(const std::string& name, std::string& value, const std::string& help);
  Option& Add(const std::string& name, std::filesystem::path& value, const std::string& help);
  Option& Add(const std::string& name, int& value, const std::string& help);
  Option& Add(const std::string& name, int64_t& value, const std::string& help);
  Option& Add(const std::string& name, uint64_t& value, const std::string& help);
  Option& Add(const std::string& name, double& value, const std::string& help);
  Option& Add(const std::string& name, std::vector<std::string>& values, const std::string& help);
  Option& Add(const std::string& name, std::vector<std::filesystem::path>& values, const std::string& help);
  void AddFlag(const std::string& name, bool& value, const std::string& help);  // "!--name" clears it
  // A flag that prints a text and ends the program, as --help does.
  void AddAnswer(const std::string& name, const std::string& text, const std::string& help);

  void Do(std::function<void()> work);
  void DoFirst(std::function<void()> work);  // before the work of the command below
  bool Given(const std::string& option) const;
  std::vector<GivenOption> AllGiven() const;  // in the order of their declarations, without arguments

  // Of the program: reads its arguments and does the work; throws InputError for wrong usage.
  void ParseAndRun(int argc, const char* const* argv);
  // The same of words that no person wrote at a prompt: what is wrong is said without advice.
  void Parse(std::vector<std::string> arguments);
  CommandFacts Facts() const;

 private:
  std::string WhatIsWrong(int argc, const char* const* argv, const std::string& otherwise) const;
  struct State;
  explicit Command(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lumen
