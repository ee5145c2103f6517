#include "tests/faults/harness.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <thread>
#include <tuple>

#include "lumen/base/error.h"
#include "lumen/base/json.h"
#include "lumen/base/safetensors.h"
#include "lumen/base/text.h"
#include "lumen/base/timer.h"
#include "lumen/io/image_file.h"
#include "lumen/io/map_file.h"
#include "lumen/io/mesh_file.h"
#include "tests/faults/fault_book.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr double kLongestWait = 60;  // seconds; what takes longer hangs
constexpr int kNextTimeEvery = 4;

// Runs flush what they write, which is most of the time on a disk that others use, and only a power cut could
// tell: where there is memory to hold files, they lie there, unless the user has said where.
const bool files_in_memory = [] {
  constexpr uint64_t kEnough = uint64_t{1} << 29;
  std::error_code error;
  const fs::path memory = "/dev/shm";
  const fs::space_info space = fs::space(memory, error);
  const bool usable = !error && space.available >= kEnough && ::access(memory.c_str(), W_OK) == 0;
  if (usable) ::setenv("TMPDIR", memory.c_str(), 0);
  return usable;
}();

fs::path Programs() { return fs::read_symlink("/proc/self/exe").parent_path(); }

// The book as this process sees it.
class OpenBook {
 public:
  explicit OpenBook(const fs::path& path) : path_(path) {
    WriteFileAtomically(path, std::string(sizeof(FaultBook), '\0'), Flush::kLater);
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    void* map = ::mmap(nullptr, sizeof(FaultBook), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (map == MAP_FAILED) throw OutputError(path, "cannot be mapped");
    book_ = static_cast<FaultBook*>(map);
  }
  ~OpenBook() { ::munmap(book_, sizeof(FaultBook)); }
  OpenBook(const OpenBook&) = delete;
  OpenBook& operator=(const OpenBook&) = delete;
  const FaultBook* operator->() const { return book_; }
  std::vector<std::string> Environment(const Fault& fault) const {
    std::vector<std::string> variables = {
        StrCat("LD_PRELOAD=", (Programs() / "../lib/liblumen_fail_nth.so").string()),
        StrCat("LUMEN_FAULT_BOOK=", path_.string()),
        StrCat("LUMEN_FAULT_CALLS=", fault.calls),
        StrCat("LUMEN_FAULT_ERROR=", fault.error),
        StrCat("LUMEN_FAULT_AT=", fault.at),
        StrCat("LUMEN_FAULT_STAYS=", fault.stays ? 1 : 0),
        StrCat("LUMEN_FAULT_SIZE=", fault.size)};
    if (!fault.under.empty()) variables.push_back(StrCat("LUMEN_FAULT_UNDER=", fault.under.string()));
    return variables;
  }

 private:
  fs::path path_;
  FaultBook* book_;
};

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> OwnEnvironment(const fs::path& temporary) {
  std::vector<std::string> variables = {StrCat("TMPDIR=", temporary.string())};
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (!StartsWith(*variable, "TMPDIR=") && !StartsWith(*variable, "LD_PRELOAD="))
      variables.emplace_back(*variable);
  return variables;
}

// The program, with its streams in files, in a group of its own.
pid_t Spawn(const std::vector<std::string>& command, const std::vector<std::string>& environment,
            const fs::path& out, const fs::path& err) {
  const std::string program = (Programs() / command.front()).string();
  const std::vector<char*> arguments = Pointers(command), variables = Pointers(environment);
  const pid_t process = ::fork();
  // Here and there: whichever comes first, it is in its group before anybody sends that a signal.
  ::setpgid(process, 0);
  if (process != 0) return process;
  const auto connect = [](const char* path, int flags, int stream) {
    const int file = ::open(path, flags, 0600);
    ::dup2(file, stream);
    ::close(file);
  };
  connect("/dev/null", O_RDONLY, STDIN_FILENO);
  connect(out.c_str(), O_WRONLY, STDOUT_FILENO);
  connect(err.c_str(), O_WRONLY, STDERR_FILENO);
  ::execve(program.c_str(), arguments.data(), variables.data());
  ::_exit(127);
}

// Waits for its end, and sends the signal when its time has come.
void Await(pid_t process, const Signal& signal, Ending& ending) {
  const Stopwatch watch;
  bool sent = signal.number == 0;
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(process, &status, WNOHANG)) == 0) {
    const double seconds = watch.ElapsedMs() / 1000;
    if (!sent && seconds >= signal.after_seconds) {
      // As a terminal does; all else is between the sender and the program alone.
      ::kill(signal.number == SIGINT ? -process : process, signal.number);
      sent = true;
    }
    if (seconds > kLongestWait) {
      ending.hung = true;
      ::kill(-process, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  ending.seconds = watch.ElapsedMs() / 1000;
  if (WIFEXITED(status)) ending.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ending.signal = WTERMSIG(status);
}

std::string Describe(const Fault& fault) {
  return StrCat(fault.error, fault.stays ? " from " : " at ", fault.at, " of ", fault.calls,
                fault.under.empty() ? "" : StrCat(" under ", fault.under.filename().string()));
}

std::string Describe(const Ending& ending) {
  if (ending.hung) return "hung";
  return ending.signal != 0 ? StrCat("signal ", ending.signal) : StrCat("exit ", ending.code);
}

int64_t CountLines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

}  // namespace

bool TestsAllFaults() {
  const char* chosen = std::getenv("LUMEN_FAULTS");
  return chosen != nullptr && std::string(chosen) == "full";
}

std::vector<uint64_t> Spread(uint64_t count, int moments) {
  std::vector<uint64_t> numbers;
  const uint64_t wanted = std::min<uint64_t>(count, static_cast<uint64_t>(moments));
  for (uint64_t i = 0; i < wanted; ++i)
    numbers.push_back(wanted == 1 ? (count + 1) / 2 : 1 + i * (count - 1) / (wanted - 1));
  return numbers;
}

Ending Start(const std::vector<std::string>& command, const fs::path& temporary, const Fault& fault,
             const Signal& signal) {
  const TemporaryFolder streams;
  const OpenBook book(streams.Path() / "book");
  std::vector<std::string> environment = OwnEnvironment(temporary);
  if (!fault.calls.empty()) {
    const std::vector<std::string> own = book.Environment(fault);
    environment.insert(environment.end(), own.begin(), own.end());
  }
  Ending ending;
  const fs::path out = streams.Path() / "out", err = streams.Path() / "err";
  for (const fs::path& stream : {out, err}) WriteFileAtomically(stream, "", Flush::kLater);
  Await(Spawn(command, environment, out, err), signal, ending);
  ending.out = ReadFile(out);
  ending.err = ReadFile(err);
  for (size_t i = 0; i < std::size(kFaultKinds); ++i) ending.calls[kFaultKinds[i]] = book->calls_of[i];
  ending.struck = book->struck;
  ending.what = book->what;
  return ending;
}

std::vector<std::string> ListTemporaries(const fs::path& folder) {
  std::vector<std::string> names;
  if (!fs::exists(folder)) return names;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (StartsWith(name, ".") || EndsWith(name, ".tmp") || EndsWith(name, ".partial"))
      names.push_back(entry.path().string());
  }
  return names;
}

std::vector<std::string> ListFilesBelow(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && !StartsWith(name, ".")) names.push_back(fs::relative(entry, folder));
  }
  std::sort(names.begin(), names.end());
  return names;
}

namespace {

void RequireReadable(const fs::path& file) {
  const std::string ending = file.extension().string();
  const auto require_end = [&](const char* end) {
    if (!EndsWith(Trim(ReadFile(file)), end)) throw InputError(file, "is cut short");
  };
  if (ending == ".png") LoadRgb(file);
  if (ending == ".ply") LoadMesh(file);
  if (ending == ".h5") LoadMap(file);
  if (ending == ".json") Json::Load(file);
  if (ending == ".svg") require_end("</svg>");
  if (ending == ".html") require_end("</html>");
  if (ending == ".safetensors") LoadSafetensors(file);
}

}  // namespace

void RequireReadableFiles(const fs::path& folder) {
  for (const std::string& name : ListFilesBelow(folder)) RequireReadable(folder / name);
}

Trial::Trial(TriedCommand command) : command_(std::move(command)) {
  if (!command_.require_readable) command_.require_readable = [this] { RequireReadableFiles(command_.out); };
  if (!command_.require_whole) {
    command_.require_whole = [this] {
      RequireReadableFiles(command_.out);
      const std::vector<std::string> files = ListFilesBelow(command_.out);
      if (files_.empty()) files_ = files;
      EXPECT_EQ(files, files_);
    };
    Undisturbed();
  }
  Empty();
}

Trial::~Trial() {
  for (const auto& [kind, ends] : outcomes_) {
    int tries = 0;
    std::string list;
    for (const auto& [end, count] : ends) {
      tries += count;
      list += StrCat(list.empty() ? "" : ", ", end, ": ", count);
    }
    std::cout << "| " << command_.name << " | " << kind << " | " << tries << " | " << list << " |\n";
  }
}

void Trial::Empty() const {
  fs::remove_all(command_.out);
  fs::create_directories(command_.out);
}

// Nothing but a program that was killed leaves behind what nobody shall see.
void Trial::RequireNothingLeft() const {
  for (const std::string& name : ListTemporaries(command_.out)) ADD_FAILURE() << name << " stays behind";
  for (const fs::directory_entry& entry : fs::directory_iterator(temporary_.Path())) {
    ADD_FAILURE() << entry.path() << " stays behind";
    fs::remove_all(entry);  // it is this trial's, not the next one's
  }
}

double Trial::Undisturbed() {
  if (seconds_) return *seconds_;
  Empty();
  const Ending ending = Start(command_.arguments, temporary_.Path());
  EXPECT_TRUE(command_.good.contains(ending.code)) << Describe(ending) << "\n" << ending.err;
  EXPECT_NO_THROW(command_.require_whole());
  seconds_ = ending.seconds;
  return ending.seconds;
}

uint64_t Trial::CountMoments(const Fault& fault) {
  static std::map<std::tuple<std::string, bool, fs::path, size_t>, Ending> counted;
  const bool memory = fault.calls == "memory";  // much more often than all others
  Ending& ending = counted[{command_.name, memory, fault.under, fault.size}];
  if (ending.code < 0) {
    Empty();
    const Fault all{.calls = memory ? "memory" : "open,create,read,write,rename,sync,close,mkdir,map",
                    .under = fault.under,
                    .size = fault.size};
    ending = Start(command_.arguments, temporary_.Path(), all);
    EXPECT_TRUE(command_.good.contains(ending.code)) << ending.err;
  }
  uint64_t count = 0;
  for (const std::string& kind : Split(fault.calls, ',')) count += ending.calls[kind];
  return count;
}

void Trial::Faults(const Fault& fault, int moments, const std::set<int>& codes) {
  if (moments == 0) return;
  for (const uint64_t at : Spread(CountMoments(fault), moments)) {
    Fault one = fault;
    one.at = at;
    TryFault(one, codes);
  }
}

void Trial::RequireFits(const Ending& ending, const Fault& fault, const std::set<int>& codes) const {
  EXPECT_FALSE(ending.hung);
  EXPECT_TRUE(command_.good.contains(ending.code) || codes.contains(ending.code)) << Describe(ending);
  if (command_.good.contains(ending.code) || ending.code < 0) return;
  EXPECT_GE(CountLines(ending.err), 1);
  if (command_.one_line) {
    EXPECT_EQ(CountLines(ending.err), 1);
  }
  // What failed is named: the file itself, or one that was made of it, or that it stands beside.
  if (fault.calls == "memory") return;
  const bool named = ending.err.find(command_.out.string()) != std::string::npos ||
                     ending.err.find(command_.in.string()) != std::string::npos ||
                     ending.err.find(ending.what) != std::string::npos;
  EXPECT_TRUE(named) << "no file is named";
}

void Trial::TryFault(const Fault& fault, const std::set<int>& codes) {
  Empty();
  const Ending ending = Start(command_.arguments, temporary_.Path(), fault);
  SCOPED_TRACE(StrCat(command_.name, ", ", Describe(fault), " (", ending.what, "): ", Describe(ending), "\n",
                      ending.err));
  RequireFits(ending, fault, codes);
  const char* where = fault.under.empty() ? "" : fault.under == command_.out ? " out" : " in";
  ++outcomes_[StrCat(fault.calls, " ", fault.error, fault.stays ? " on" : "", where)]
             [StrCat(Describe(ending), ending.struck == 0 ? " (too late)" : "")];
  const bool passed_over = command_.passes_over && fault.under == command_.in;
  const auto check = [&] {
    if (command_.good.contains(ending.code) && !passed_over)
      command_.require_whole();
    else
      command_.require_readable();
  };
  EXPECT_NO_THROW(check());
  RequireNothingLeft();
  if (++tries_ % kNextTimeEvery == 0) RequireNextTimeWorks(false);
}

// The same command once more, where the last one ended. What must not be written over is refused, in one
// line, and then put away.
void Trial::RequireNextTimeWorks(bool after_kill) {
  const std::vector<std::string> arguments = command_.again ? command_.again() : command_.arguments;
  const bool may_refuse = command_.may_refuse();
  Ending ending = Start(arguments, temporary_.Path());
  constexpr int kRefused = 2;
  if (may_refuse && ending.code == kRefused) {
    EXPECT_NE(ending.err.find("exists and is not an empty folder"), std::string::npos) << ending.err;
    if (after_kill && ++tries_ % kNextTimeEvery != 0) return;
    Empty();
    ending = Start(command_.arguments, temporary_.Path());
  }
  EXPECT_TRUE(command_.good.contains(ending.code)) << "the next time: " << Describe(ending) << ending.err;
  EXPECT_NO_THROW(command_.require_whole()) << "the next time";
}

void Trial::Kills(int by_time, int by_call) {
  const Fault calls{.calls = "write,rename,mkdir,create", .error = "KILL", .under = command_.out};
  const double seconds = by_time > 0 ? Undisturbed() : 0;
  for (int k = 0; k < by_time; ++k) TryKill({}, {SIGKILL, seconds * (k + 0.5) / by_time});
  for (const uint64_t at : Spread(CountMoments(calls), by_call)) {
    Fault fault = calls;
    fault.at = at;
    TryKill(fault, {});
  }
}

void Trial::TryKill(const Fault& fault, const Signal& signal) {
  Empty();
  const Ending ending = Start(command_.arguments, temporary_.Path(), fault, signal);
  SCOPED_TRACE(StrCat(command_.name, ", killed ",
                      signal.number != 0 ? StrCat("after ", signal.after_seconds, " s") : Describe(fault),
                      " (", ending.what, "): ", Describe(ending), "\n", ending.err));
  EXPECT_FALSE(ending.hung);
  EXPECT_TRUE(ending.signal == SIGKILL || command_.good.contains(ending.code));
  ++outcomes_[signal.number != 0 ? "KILL by time" : "KILL by call"][Describe(ending)];
  EXPECT_NO_THROW(command_.require_readable());
  RequireNextTimeWorks(true);
  for (const fs::directory_entry& left : fs::directory_iterator(temporary_.Path())) fs::remove_all(left);
}

void Trial::Interrupts(int moments) {
  const double seconds = Undisturbed();
  for (int k = 0; k < moments; ++k)
    TryInterrupt({k % 2 == 0 ? SIGINT : SIGTERM, seconds * (k + 0.5) / moments});
}

void Trial::TryInterrupt(const Signal& signal) {
  Empty();
  const Ending ending = Start(command_.arguments, temporary_.Path(), {}, signal);
  SCOPED_TRACE(StrCat(command_.name, ", signal ", signal.number, " after ", signal.after_seconds,
                      " s: ", Describe(ending), "\n", ending.err));
  constexpr int kInterrupted = 130;
  EXPECT_FALSE(ending.hung);
  EXPECT_TRUE(ending.signal == signal.number || ending.code == kInterrupted ||
              command_.good.contains(ending.code));
  ++outcomes_["INT and TERM"][Describe(ending)];
  EXPECT_NO_THROW(command_.require_readable());
  RequireNothingLeft();
  RequireNextTimeWorks(true);
}

}  // namespace lumen
