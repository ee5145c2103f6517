// The program from the outside: what it prints, what it writes, and how it fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "lumen/base/file.h"
#include "lumen/base/random.h"
#include "lumen/base/test_data.h"
#include "lumen/base/text.h"
#include "lumen/io/opencv_codec.h"
#include "lumen/io/png.h"
#include "lumen/io/sequence_folder.h"
#include "lumen/io/volume_file.h"
#include "lumen/network/weights.h"
#include "tests/command.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

// A folder of small images.
fs::path WriteImages(const fs::path& folder, int count) {
  fs::create_directories(folder);
  for (int i = 0; i < count; ++i)
    SavePng(folder / StrCat(i, ".png"), RgbImage(40, 32, 3, static_cast<uint8_t>(40 + i)).View());
  return folder;
}

// One line on stderr that holds `text`, the exit code, and no output folder.
void ExpectFault(const std::string& line, int code, const std::string& text, const fs::path& output) {
  const CommandResult result = RunCommand(line);
  EXPECT_EQ(result.code, code) << result.err;
  EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
  const auto is_fault = [](const std::string& l) { return StartsWith(l, "lumen: "); };
  const std::vector<std::string> lines = Split(result.err, '\n');
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(), is_fault), 1) << result.err;
  EXPECT_FALSE(fs::exists(output)) << "nothing half-written";
}

TEST(Cli, InfoNamesVersionAndParts) {
  const CommandResult result = RunCommand("lumen info");
  EXPECT_EQ(result.code, 0);
  for (const char* word : {"lumen ", "video", "hdf5", "torch", "cpu", "gpu", "model"}) {
    EXPECT_NE(result.out.find(word), std::string::npos) << word;
  }
}

TEST(Cli, ConfigMarksWhatDiffersAndItsOutputIsAConfig) {
  const TemporaryFolder folder;
  const CommandResult changed = RunCommand("lumen config --set view.width=200");
  EXPECT_NE(changed.out.find("width = 200  # default: 160"), std::string::npos) << changed.out;
  std::ofstream(folder.Path() / "c.toml") << changed.out;
  const CommandResult again =
      RunCommand(StrCat("lumen config --config ", (folder.Path() / "c.toml").string()));
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, changed.out);
  EXPECT_NE(RunCommand("lumen config --page").out.find("| `view.width` | 160 | px |"), std::string::npos);
}

// Of all the tests that call the program, the one that has the address sanitizer look for leaks in it.
TEST(Cli, AWholeDayOfTheProgramLeaksNothing) {
  if (!kSanitizer) GTEST_SKIP() << "needs the address sanitizer";
  const TemporaryFolder folder;
  const std::string base = folder.Path().string();
  const CommandResult day = RunCommand(StrCat(
      "export ASAN_OPTIONS=detect_leaks=1; cd ", base,
      " && lumen -q simulate s --anatomy colon --seed 5 --size 80x64 --frames 10 && lumen -q run s --out r",
      " && lumen -q eval r --truth s && lumen -q report r --out p.html && lumen info s && lumen -q convert s "
      "c"));
  EXPECT_EQ(day.code, 0) << day.err;
}

TEST(Cli, UsageErrorsExitWithTwo) {
  EXPECT_EQ(RunCommand("lumen").code, 2);
  EXPECT_EQ(RunCommand("lumen convert").code, 2);
  EXPECT_EQ(RunCommand("lumen info --nonsense").code, 2);
  EXPECT_NE(RunCommand("lumen confg").err.find("no command \"confg\" (did you mean \"config\"?)"),
            std::string::npos);
  EXPECT_NE(RunCommand("lumen -q study siute")
                .err.find("lumen study has no command \"siute\" (did you mean \"suite\"?)"),
            std::string::npos);
  EXPECT_NE(RunCommand("lumen run v.mp4 --otu=r")
                .err.find("lumen run has no option --otu (did you mean \"--out\"?)"),
            std::string::npos);
  EXPECT_EQ(RunCommand("lumen --help").code, 0);
  const CommandResult misspelt = RunCommand("lumen config --set view.widht=3");
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_NE(misspelt.err.find("did you mean \"view.width\"?"), std::string::npos);
}

TEST(Cli, AloneItShowsItsCommandsByWhatOneWantsToDo) {
  const CommandResult alone = RunCommand("lumen"), asked = RunCommand("lumen --help");
  EXPECT_EQ(alone.code, 2);
  EXPECT_EQ(alone.out, asked.out);
  size_t last = 0;
  for (const char* line :
       {"From a video to a surface", "  run ", "Videos and cameras", "  calibrate ", "How good it is",
        "  eval ", "The networks", "  train ", "The program", "  config "}) {
    const size_t at = asked.out.find(line);
    ASSERT_NE(at, std::string::npos) << line << "\n" << asked.out;
    EXPECT_GT(at, last) << line;
    last = at;
  }
}

// What bash offers for the last of the words.
std::string CompleteInBash(const std::string& words) {
  const CommandResult result =
      RunCommand(StrCat("bash --norc -c 'source <(lumen completion bash); COMP_WORDS=(", words,
                        "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _lumen; echo ${COMPREPLY[*]}'"));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  return Trim(result.out);
}

TEST(Cli, BashCompletesCommandsOptionsAndValues) {
  EXPECT_EQ(CompleteInBash("lumen ru"), "run");
  EXPECT_EQ(CompleteInBash("lumen study a"), "ablation");
  EXPECT_EQ(CompleteInBash("lumen run --dev"), "--device");
  EXPECT_EQ(CompleteInBash("lumen run --device c"), "cpu cuda");
  EXPECT_EQ(CompleteInBash("lumen run --device = c"), "cpu cuda") << "as bash splits --device=c";
  EXPECT_EQ(CompleteInBash("lumen run --set view.w"), "view.width=");
  EXPECT_EQ(CompleteInBash("lumen view run --po"), "--port") << "a folder may have a command's name";
  EXPECT_EQ(CompleteInBash("lumen run --out r"), "") << "left to bash, which completes files";
  EXPECT_EQ(RunCommand("lumen completion tcsh").code, 2);
}

TEST(Cli, CompletionOfOtherShellsIsReadByThem) {
  const std::pair<const char*, const char*> shells[] = {{"zsh", "zsh -n"}, {"fish", "fish --no-execute"}};
  int read = 0;
  for (const auto& [shell, check] : shells) {
    const TemporaryFolder folder;
    const std::string script = (folder.Path() / "script").string();
    ASSERT_EQ(RunCommand(StrCat("lumen completion ", shell, " > ", script)).code, 0);
    if (RunCommand(StrCat("command -v ", shell)).code != 0) continue;
    const CommandResult result = RunCommand(StrCat(check, " ", script));
    EXPECT_EQ(result.code, 0) << shell << ": " << result.err;
    ++read;
  }
  if (read == 0) GTEST_SKIP() << "neither zsh nor fish is installed";
}

// The first words of the indented lines: commands, or options with their dashes.
std::vector<std::string> FirstWords(const std::string& help, const std::string& start) {
  std::vector<std::string> words;
  for (const std::string& line : Split(help, '\n'))
    if (StartsWith(line, "  " + start) && line.size() > 2 && line[2] != ' ')
      words.push_back(SplitWords(line).front());
  return words;
}

TEST(Cli, ManualPageHasEveryCommandAndOption) {
  const std::string page = RunCommand("lumen manual").out;
  for (const char* section : {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "EXIT STATUS",
                              "FILES", "EXAMPLES", "SEE ALSO"})
    EXPECT_NE(page.find(StrCat("\n.SH ", section, "\n")), std::string::npos) << section;
  const std::string help = RunCommand("lumen --help").out;
  const std::vector<std::string> commands = FirstWords(help.substr(help.find("From a video")), "");
  EXPECT_GT(commands.size(), 15U);
  for (const std::string& command : commands)
    EXPECT_NE(page.find(StrCat("\n.SS \\fBlumen ", command, "\\fR")), std::string::npos) << command;
  const std::vector<std::string> options = FirstWords(RunCommand("lumen run --help").out, "--");
  EXPECT_GT(options.size(), 20U);
  for (std::string option : options) {
    for (size_t at = 0; (at = option.find('-', at)) != std::string::npos; at += 2) option.insert(at, "\\");
    EXPECT_NE(page.find(StrCat("\n\\fB", option, "\\fR")), std::string::npos) << option;
  }
}

TEST(Cli, ManualPageHoldsNoRequestByAccident) {
  const std::vector<std::string> known = {".TH", ".SH", ".SS", ".TP", ".PP", ".RS",
                                          ".RE", ".nf", ".fi", ".nh", ".ad"};
  for (const std::string& line : Split(RunCommand("lumen manual").out, '\n')) {
    if (!StartsWith(line, ".") && !StartsWith(line, "'")) continue;
    EXPECT_NE(std::find(known.begin(), known.end(), line.substr(0, 3)), known.end()) << line;
  }
  if (RunCommand("command -v groff").code != 0) return;
  const CommandResult rendered = RunCommand("lumen manual | groff -man -Tutf8 -ww");
  EXPECT_EQ(rendered.code, 0);
  EXPECT_EQ(rendered.err, "") << "groff warns";
}

TEST(Cli, ConvertTurnsImagesIntoASequence) {
  const TemporaryFolder folder;
  WriteImages(folder.Path() / "in", 6);
  const fs::path out = folder.Path() / "out";
  const CommandResult result = RunCommand(StrCat("lumen convert ", (folder.Path() / "in").string(), " ",
                                                 out.string(), " --fov 70 --fps 20 --stride 2"));
  ASSERT_EQ(result.code, 0) << result.err;
  const auto source = OpenInput(out, {});
  EXPECT_EQ(source->Info().frame_count, 3);
  EXPECT_EQ(source->Info().fps, 10) << "every second frame at half the rate";
  EXPECT_EQ(source->Next()->image(3, 3, 0), 40);
  EXPECT_EQ(source->Next()->image(3, 3, 0), 42);
  EXPECT_NEAR(source->Info().camera->AsPinhole()->fx, 20 / std::tan(35 * M_PI / 180), 1e-6);
}

TEST(Cli, ConvertFaultsAreOneLineAndLeaveNothing) {
  const TemporaryFolder folder;
  const fs::path in = WriteImages(folder.Path() / "in", 4);
  const fs::path out = folder.Path() / "out";
  const std::string convert = StrCat("lumen convert ", in.string(), " ", out.string());
  ExpectFault(StrCat("lumen convert ", (folder.Path() / "no").string(), " ", out.string()), 2,
              "no such file or folder", out);
  ExpectFault(convert + " --rectify 160x128", 2, "nothing says what lens it was taken with", out);
  ExpectFault(convert + " --fov 70 --rectify 0x0", 2, "expected WIDTHxHEIGHT", out);
  ExpectFault(convert + " --start 9", 2, "leave no frame", out);
  ExpectFault(convert + " --mask " + (in / "none.png").string(), 2, "no such file", out);

  fs::create_directory(folder.Path() / "empty");
  ExpectFault(StrCat("lumen convert ", (folder.Path() / "empty").string(), " ", out.string()), 2,
              "holds no images", out);

  std::ofstream(folder.Path() / "x.mp4") << "no video";
  ExpectFault(StrCat("lumen convert ", (folder.Path() / "x.mp4").string(), " ", out.string()), 2, "x.mp4",
              out);

  SavePng(folder.Path() / "mask.png", Mask(7, 7, 1, 255).View());
  ExpectFault(convert + " --mask " + (folder.Path() / "mask.png").string(), 2, "the mask is 7x7", out);

  fs::resize_file(in / "2.png", 70);
  ExpectFault(convert, 2, "2.png", out);
}

TEST(Cli, FullDiskExitsWithThreeAndLeavesNothing) {
  const TemporaryFolder folder;
  Random random(1);
  Image<uint8_t> noise(200, 160, 3);
  for (size_t i = 0; i < noise.Size(); ++i) noise.Data()[i] = static_cast<uint8_t>(random.NextBits());
  fs::create_directory(folder.Path() / "in");
  SavePng(folder.Path() / "in/0.png", noise.View());
  const fs::path out = folder.Path() / "out";
  // A limit on the size of files is a disk that takes no more, for one process.
  ExpectFault(
      StrCat("( ", FullDisk(8), "lumen convert ", (folder.Path() / "in").string(), " ", out.string(), " )"),
      3, "cannot write", out);
}

TEST(Cli, TargetThatIsNotEmptyIsRefusedAndLeftAlone) {
  const TemporaryFolder folder;
  const fs::path in = WriteImages(folder.Path() / "in", 2);
  fs::create_directory(folder.Path() / "out");
  std::ofstream(folder.Path() / "out/precious") << "x";
  const CommandResult result =
      RunCommand(StrCat("lumen convert ", in.string(), " ", (folder.Path() / "out").string()));
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(fs::exists(folder.Path() / "out/precious"));
}

TEST(Cli, SimulateWritesASequenceWithItsTruthAndTheSameBytesEveryTime) {
  const TemporaryFolder folder;
  const auto simulate = [&](const std::string& name, const std::string& extra) {
    return RunCommand(StrCat("lumen simulate ", (folder.Path() / name).string(),
                             " --anatomy colon --seed 3 --frames 4 --size 80x64 ", extra));
  };
  ASSERT_EQ(simulate("a", "--threads 1").code, 0);
  ASSERT_EQ(simulate("b", "--threads 3").code, 0);
  EXPECT_EQ(
      RunCommand(StrCat("diff -r ", (folder.Path() / "a").string(), " ", (folder.Path() / "b").string()))
          .code,
      0);
  const auto source = OpenInput(folder.Path() / "a", {});
  EXPECT_EQ(source->Info().frame_count, 4);
  EXPECT_EQ(source->Info().units, "mm");
  EXPECT_EQ(source->Info().truth->size(), 4U);
  EXPECT_TRUE(source->Info().mask);
  EXPECT_TRUE(source->LoadDepth(3));
  EXPECT_TRUE(fs::exists(folder.Path() / "a/model.ply"));
}

TEST(Cli, SimulateWritesACtOfTheBodyAndWhereTheWorldLiesInIt) {
  const TemporaryFolder folder;
  const fs::path out = folder.Path() / "seq";
  ASSERT_EQ(RunCommand(StrCat("lumen simulate ", out.string(),
                              " --anatomy stomach --frames 1 --size 80x64 --no-coverage",
                              " --ct 6x8 --ct-offset 1024 --ct-fluid --ct-noise 5"))
                .code,
            0);
  const Volume ct = LoadVolume(out / "ct.nii");
  EXPECT_NEAR(ct.lps_from_index(0, 0), 6, 1e-4);
  EXPECT_NEAR(ct.lps_from_index(2, 2), 8, 1e-4);
  EXPECT_GT(ct.Most(), 1500);  // bone
  EXPECT_GE(ct.Least(), -2000 + 1024);
  EXPECT_EQ(Split(ReadFile(out / "ct_from_world.txt"), '\n').size(), 5U);  // four lines, each ended
}

TEST(Cli, SimulateFaultsAreOneLineAndLeaveNothing) {
  const TemporaryFolder folder;
  const fs::path out = folder.Path() / "out";
  const std::string simulate = StrCat("lumen simulate ", out.string(), " ");
  ExpectFault(simulate + "--anatomy nasl", 2, "did you mean \"nasal\"?", out);
  ExpectFault(simulate + "--subject nasal-9", 2, "nasal-", out);
  ExpectFault(simulate + "--frames 0", 2, "at least one frame", out);
  ExpectFault(simulate + "--seed -1", 2, "--seed", out);
  ExpectFault(simulate + "--size 3x3", 2, "expected WIDTHxHEIGHT", out);
  ExpectFault(simulate + "--path sideways", 2, "sideways", out);
  ExpectFault(simulate + "--degrade smoke:9", 2, "smoke", out);
  ExpectFault(simulate + "--ct 1x2x3", 2, "PIXELxSLICE", out);
  ExpectFault(simulate + "--ct 0", 2, "measure", out);
  ExpectFault(simulate + "--ct-fluid", 2, "needs --ct", out);
  ExpectFault(StrCat("( ", FullDisk(8), simulate, "--frames 2 --size 160x128 --threads 1 )"), 3,
              "cannot write", out);
  fs::create_directory(out);
  std::ofstream(out / "precious") << "x";
  EXPECT_EQ(RunCommand(simulate + "--frames 2").code, 2);
  EXPECT_TRUE(fs::exists(out / "precious"));
}

TEST(Cli, PredictRunsOnAnyWeightsAndNamesBadOnes) {
  const TemporaryFolder folder;
  const fs::path model = folder.Path() / "m.safetensors";
  SaveModel(model, MakeRandomModel(1));
  WriteImages(folder.Path() / "in", 2);
  const fs::path out = folder.Path() / "out";
  const CommandResult result =
      RunCommand(StrCat("lumen predict --device cpu ", (folder.Path() / "in").string(), " --out ",
                        out.string(), " --fov 77 --model ", model.string()));
  ASSERT_EQ(result.code, 0) << result.err;
  for (const char* kind : {"depth", "depth_color", "features", "descriptors"}) {
    EXPECT_TRUE(fs::exists(out / StrCat("000001_", kind, ".png"))) << kind;
  }
  EXPECT_EQ(RunCommand(StrCat("lumen predict --device cpu ", (folder.Path() / "in/0.png").string(), " --out ",
                              (folder.Path() / "one").string(), " --model ", model.string()))
                .code,
            0);
  const CommandResult into_itself =
      RunCommand(StrCat("lumen predict --device cpu ", (folder.Path() / "in").string(), " --out ",
                        (folder.Path() / "in/../in/new").string(), " --fov 77 --model ", model.string()));
  EXPECT_EQ(into_itself.code, 2);
  EXPECT_NE(into_itself.err.find("lies inside the input"), std::string::npos) << into_itself.err;
  EXPECT_FALSE(fs::exists(folder.Path() / "in/new"));
  std::ofstream(folder.Path() / "bad.safetensors") << "no weights";
  const CommandResult bad =
      RunCommand(StrCat("lumen predict --device cpu ", (folder.Path() / "in").string(), " --out ",
                        out.string(), " --fov 77 --model ", (folder.Path() / "bad.safetensors").string()));
  EXPECT_EQ(bad.code, 2);
  EXPECT_NE(bad.err.find("bad.safetensors"), std::string::npos);
}

TEST(Cli, RealSequenceAndAVideoMadeFromItAgree) {
  const auto data = FindTestData("nasal-real");
  if (!data || !HaveOpenCv()) GTEST_SKIP() << "no nasal-real here";
  const TemporaryFolder folder;
  const fs::path images = folder.Path() / "images";
  const fs::path video = folder.Path() / "clip.avi";
  const std::string select = " --end 5 --rectify 160x128";
  ASSERT_EQ(RunCommand(StrCat("lumen convert ", data->string(), " ", images.string(), select)).code, 0);
  ASSERT_EQ(RunCommand(StrCat("lumen_make_video ", data->string(), " ", video.string(), " 5")).code, 0);
  const CommandResult result = RunCommand(StrCat(
      "lumen convert ", video.string(), " ", (folder.Path() / "video").string(), select, " --calibration ",
      (*data / "sequence.toml").string(), " --mask ", (*data / "mask.png").string()));
  ASSERT_EQ(result.code, 0) << result.err;
  const auto a = OpenInput(images, {});
  const auto b = OpenInput(folder.Path() / "video", {});
  EXPECT_EQ(*a->Info().camera, *b->Info().camera);
  for (int i = 0; i < 5; ++i) {
    const RgbImage x = a->Next()->image;
    const RgbImage y = b->Next()->image;
    double sum = 0;
    for (size_t k = 0; k < x.Size(); ++k) sum += std::abs(x.Data()[k] - y.Data()[k]);
    EXPECT_LT(sum / static_cast<double>(x.Size()), 1.5) << "frame " << i;  // the video's compression
  }
}

}  // namespace
}  // namespace lumen
