#include <iostream>

#include "lumen/apps/app.h"
#include "lumen/base/text.h"
#include "lumen/base/version.h"

namespace lumen {

namespace {

// Plain text for roff: what it would take for its own is escaped, and `words like these` become bold.
std::string Roff(const std::string& text) {
  std::string out;
  bool bold = false;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";  // a minus, so that options can be copied from the page
    } else if (c == '~') {
      out += "\\(ti";
    } else if (c == '^') {
      out += "\\(ha";
    } else if (c == '`') {
      bold = !bold;
      out += bold ? "\\fB" : "\\fR";
    } else {
      out += c;
    }
  }
  // At the start of a line these two begin a request.
  return StartsWith(out, ".") || StartsWith(out, "'") ? "\\&" + out : out;
}

std::string Bold(const std::string& text) { return StrCat("\\fB", Roff(text), "\\fR"); }
std::string Italic(const std::string& text) { return StrCat("\\fI", Roff(text), "\\fR"); }

std::string Join(const std::vector<std::string>& parts, const std::string& separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
  return text;
}

std::string FormatValue(const OptionFacts& option) {
  if (!option.choices.empty()) {
    std::vector<std::string> choices;
    for (const std::string& choice : option.choices) choices.push_back(Bold(choice));
    return Join(choices, "|");
  }
  if (option.kind == ValueKind::kNumber) return Italic("number");
  return Italic(option.kind == ValueKind::kPath ? "path" : "text");
}

// "-q, --quiet", "--fov number", "INPUT"
std::string FormatName(const OptionFacts& option) {
  if (option.is_argument) return Italic(option.names.front()) + (option.repeats ? " ..." : "");
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(Bold(name));
  const bool takes_value = option.kind != ValueKind::kNone;
  return Join(names, ", ") + (takes_value ? " " + FormatValue(option) : "");
}

std::string FormatOption(const OptionFacts& option) {
  std::vector<std::string> remarks;
  if (option.required && !option.is_argument) remarks.push_back("required");
  if (!option.limits.empty()) remarks.push_back(option.limits);
  if (!option.default_value.empty()) remarks.push_back("default: " + option.default_value);
  const std::string remark = remarks.empty() ? "" : StrCat(" (", Join(remarks, "; "), ")");
  return StrCat(".TP\n", FormatName(option), "\n", Roff(option.help + remark), "\n");
}

bool IsHelp(const OptionFacts& option) { return option.names.back() == "--help"; }

// "lumen run INPUT --out path [option ...]"
std::string FormatUsage(const std::string& path, const CommandFacts& command) {
  std::string usage = Bold(path);
  bool has_more = false;
  for (const OptionFacts& option : command.options) {
    if (option.is_argument && !option.required) {
      usage += StrCat(" [", FormatName(option), "]");
    } else if (option.required) {
      usage += " " + FormatName(option);
    } else {
      has_more = has_more || !IsHelp(option);
    }
  }
  return usage + (has_more ? StrCat(" [", Italic("option"), " ...]") : "");
}

std::string FormatCommand(const std::string& path, const CommandFacts& command) {
  const bool is_group = !command.commands.empty();
  std::string text = StrCat(".SS ", FormatUsage(path, command), is_group ? " " + Italic("command") : "", "\n",
                            Roff(command.help), "\n");
  for (const OptionFacts& option : command.options)
    if (!IsHelp(option)) text += FormatOption(option);
  for (const CommandFacts& below : command.commands) text += FormatCommand(path + " " + below.name, below);
  return text;
}

// Prose with roff's requests on lines of their own.
std::string FormatProse(const std::string& prose) {
  std::string text;
  for (const std::string& line : Split(prose, '\n'))
    text += (StartsWith(line, ".") ? line : Roff(line)) + "\n";
  return text;
}

constexpr const char* kDescription = R"(.SH DESCRIPTION
Lumen takes the video of an endoscope and gives the camera's path, dense depth, a fused surface and its registration to the CT.
It follows the paper SAGE (SLAM with Appearance and Geometry Prior for Endoscopy, ICRA 2022) and needs no GPU.
.PP
Inputs are sequence folders, folders of images, videos, cameras (/dev/video0), DICOM recordings, SAGE's HDF5 files and data sets (C3VD, SimCol3D, EndoSLAM, SCARED, Hamlyn, EndoMapper, StereoMIS; lumen info DIR lists their sequences).
A camera is calibrated once with `lumen calibrate`, or guessed from its field of view with `--fov`.
Results go to standard output, everything else to standard error.
.PP
Lumen is not a medical device: nothing in it is meant for, or tested for, decisions about patients.)";

constexpr const char* kExitStatus = R"(.SH EXIT STATUS
.TP
0
all is well
.TP
2
wrong usage, or input that cannot be used; one line on standard error says why
.TP
3
the output cannot be written, as on a full disk
.TP
4
`lumen register`: the surface could not be registered; `lumen adapt`: the model became no better
.TP
5
there is not enough memory, or no thread to be had
.TP
70
a fault of Lumen itself: please report it
.TP
130
interrupted (Ctrl-C, SIGTERM): `lumen run` has written what was placed so far, `lumen study` and `lumen batch` go on when called again and `lumen adapt` with `--resume`, `lumen convert` and `lumen simulate` have cleared away what they had begun; other commands die of the signal and leave nothing half-written)";

constexpr const char* kFiles = R"(.SH FILES
.TP
lumen-base.safetensors
the model, unless `--model` names another: looked for in ../share/lumen/models beside the program's folder, in the program's own folder, and in the source tree it was built from
.TP
lumen-base.vocabulary.safetensors
the words for place recognition, beside the model
.TP
calibration.yaml
what `lumen calibrate` writes, unless `--out` names another
.TP
sequence.toml
describes a sequence folder; its frames are in rgb/, its truth, where it has one, in groundtruth.tum and depth/
.TP
index.html, index.csv, failures.csv
of `lumen batch`: its videos, sorted and searched in a browser or as a table, and those that failed, with why
.TP
frames.tum, keyframes.tum, depth/, surface.ply, map.h5, summary.json, config.toml
in the folder of a run: the camera's path in TUM's format, the keyframes' depth, the fused surface, the whole map to go on from with `--map`, counts and times, and every parameter as it was)";

struct Example {
  const char* meaning;
  const char* line;
};
constexpr Example kExamples[] = {
    {"A camera from a video of a checkerboard with squares of 3 mm:",
     "lumen calibrate board.mp4 --board 9x6 --square 3 --out endoscope.yaml"},
    {"A video, watched in the browser while it goes on:",
     "lumen run endoscopy.mp4 --calibration endoscope.yaml --out run --refine --view"},
    {"The run as one page, and its surface for any 3D program:",
     "lumen report run\nlumen fuse run --out surface.glb"},
    {"Onto the CT:", "lumen register run --model ct.nii.gz --out registered"},
    {"Every video of an archive, with one page over all:",
     "lumen batch archive --calibration endoscope.yaml --out results"},
    {"A simulated colon with its truth, run and graded:",
     "lumen simulate colon --anatomy colon --seed 7\nlumen run colon --out colon-run\nlumen eval colon-run "
     "--truth colon"},
    {"Completion in bash, from now on:",
     "lumen completion bash > ~/.local/share/bash-completion/completions/lumen"},
};

constexpr const char* kSeeAlso = R"(.SH SEE ALSO
`lumen` command `--help` says the same of one command; `lumen config --page` prints every parameter that `--set` changes, with unit, range and meaning.
The folder docs/ of the sources has a quick start, how to use data of one's own, the metrics, and what was measured.)";

std::string FormatExamples() {
  std::string text = ".SH EXAMPLES\n";
  for (const Example& example : kExamples)
    text += StrCat(".PP\n", Roff(example.meaning), "\n.PP\n.RS 4\n.nf\n", Roff(example.line), "\n.fi\n.RE\n");
  return text;
}

std::string FormatManual(const CommandFacts& program) {
  const std::string title = program.help.substr(program.help.find(": ") + 2);  // behind "Lumen: "
  std::string page =
      StrCat(".TH LUMEN 1 \"\" ", Roff(StrCat("\"lumen ", Version(), "\"")), " \"Lumen\"\n.nh\n.ad l\n");
  page +=
      StrCat(".SH NAME\n", Roff(StrCat(program.name, " - ", title)), "\n.SH SYNOPSIS\n", Bold(program.name),
             " [", Italic("option"), " ...] ", Italic("command"), " [", Italic("argument"), " ...]\n");
  page += FormatProse(kDescription) + ".SH OPTIONS\n";
  for (const OptionFacts& option : program.options) page += FormatOption(option);
  page += ".SH COMMANDS\n";
  for (const CommandFacts& command : program.commands)
    page += FormatCommand(program.name + " " + command.name, command);
  return page + FormatProse(kExitStatus) + FormatProse(kFiles) + FormatExamples() + FormatProse(kSeeAlso);
}

}  // namespace

void AddManualCommand(Command& app) {
  Command& command = app.AddCommand("manual", "print the manual page, for man -l -");
  command.Do([&app] { std::cout << FormatManual(app.Facts()); });
}

}  // namespace lumen
