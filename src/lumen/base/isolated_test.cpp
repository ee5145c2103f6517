#include "lumen/base/isolated.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <thread>

#include "lumen/base/error.h"
#include "lumen/base/file.h"

namespace lumen {
namespace {

std::string FaultOf(const Isolated::Work& work) {
  Isolated reader("scan.dcm", work);
  try {
    reader.Ask("", [](RecordReader& in) { in.Get<int>(); });
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Isolated, AnswersOneRequestAfterTheOther) {
  int calls = 0;
  Isolated reader("x", [&](std::string_view request, RecordWriter& out) {
    out.Put(++calls);
    out.Write(StrCat("<", request, ">"));
    const std::vector<float> many(1 << 20, 1.5F);  // more than a pipe holds
    out.Write(many.data(), many.size() * sizeof(float));
  });
  for (int k = 1; k <= 2; ++k) {
    reader.Ask(StrCat("r", k), [&](RecordReader& in) {
      EXPECT_EQ(in.Get<int>(), k);
      EXPECT_EQ(in.ReadText(100), StrCat("<r", k, ">"));
      std::vector<float> many(1 << 20);
      in.Read(many.data(), many.size() * sizeof(float));
      EXPECT_EQ(many.back(), 1.5F);
    });
  }
  EXPECT_EQ(calls, 0) << "the copy shares nothing";
}

// More than the board takes, little, and as much again: each in its order.
TEST(Isolated, RecordsOfAnySizeComeInTheirOrder) {
  const std::vector<size_t> sizes{10, 1 << 20, 3, (3 << 20) + 5, 1 << 20, 0, 6 << 20, 4096, 4095};
  Isolated reader("x", [&](std::string_view request, RecordWriter& out) {
    for (size_t i = 0; i < sizes.size(); ++i) out.Write(std::string(sizes[i], static_cast<char>('a' + i)));
    out.Put(request.size());
    out.Put(request.empty() ? '-' : request.back());
  });
  for (const size_t asked : {size_t{0}, size_t{5000}, size_t{5} << 20, size_t{17}}) {
    reader.Ask(std::string(asked, '?'), [&](RecordReader& in) {
      for (size_t i = 0; i < sizes.size(); ++i) {
        const std::string record = in.ReadText(size_t{8} << 20);
        EXPECT_TRUE(record == std::string(sizes[i], static_cast<char>('a' + i))) << asked << ", record " << i;
      }
      EXPECT_EQ(in.Get<size_t>(), asked);
      EXPECT_EQ(in.Get<char>(), asked == 0 ? '-' : '?');
    });
  }
}

TEST(Isolated, ItsFaultsAreOurs) {
  EXPECT_EQ(FaultOf([](std::string_view, RecordWriter&) { throw InputError("slice 7", "is cut short"); }),
            "slice 7: is cut short");
  EXPECT_EQ(FaultOf([](std::string_view, RecordWriter&) { throw std::bad_alloc(); }),
            "scan.dcm: asks for more memory than it may have");
}

TEST(Isolated, OfACopyThatWritesTheyAreFaultsOfTheOutput) {
  const auto write = [](const Isolated::Work& work) {
    Isolated("map.h5", work, Isolated::Task::kWrites).Ask("", [](RecordReader&) {});
  };
  EXPECT_NO_THROW(write([](std::string_view, RecordWriter&) {}));
  EXPECT_THROW(write([](std::string_view, RecordWriter&) { throw std::bad_alloc(); }), std::bad_alloc);
  const auto fault = [&](const Isolated::Work& work) {
    try {
      write(work);
    } catch (const OutputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(fault([](std::string_view, RecordWriter&) { throw std::runtime_error("disk full"); }),
            "map.h5: disk full");
  EXPECT_EQ(fault([](std::string_view, RecordWriter&) { std::raise(SIGKILL); }),
            "map.h5: cannot write: the library that writes it gave up on it (KILL)");
}

TEST(Isolated, ItOutlivesTheThreadThatMadeIt) {
  std::unique_ptr<Isolated> reader;
  std::thread([&] {
    reader = std::make_unique<Isolated>("x", [](std::string_view, RecordWriter& out) { out.Put(7); });
  }).join();
  int answer = 0;
  EXPECT_NO_THROW(reader->Ask("", [&](RecordReader& in) { answer = in.Get<int>(); }));
  EXPECT_EQ(answer, 7);
}

// A process whose reader hangs in a library is killed: the reader goes, too.
TEST(Isolated, ItDiesWithUsWhateverItDoes) {
  int said[2];
  ASSERT_EQ(::pipe(said), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    Isolated reader("x", [](std::string_view, RecordWriter& out) {
      out.Put(::getpid());
      for (volatile bool busy = true; busy;) continue;
    });
    reader.Ask("", [&](RecordReader& in) {
      const auto process = in.Get<pid_t>();
      (void)!::write(said[1], &process, sizeof(process));
      in.Get<int>();
    });
  }
  pid_t reader = 0;
  ASSERT_EQ(::read(said[0], &reader, sizeof(reader)), static_cast<ssize_t>(sizeof(reader)));
  ::kill(parent, SIGKILL);
  ASSERT_EQ(::waitpid(parent, nullptr, 0), parent);
  // Nobody may be there to wait for it: dead is what is gone, or is a name in the table alone.
  const auto runs = [&] {
    const std::filesystem::path stat = StrCat("/proc/", reader, "/stat");
    if (!std::filesystem::exists(stat)) return false;
    try {
      const std::string text = ReadFile(stat);
      return text.find(") Z") == std::string::npos;
    } catch (const InputError&) {
      return false;
    }
  };
  constexpr int kPatience = 3000;  // half a minute
  for (int k = 0; k < kPatience && runs(); ++k) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(runs());
  if (runs()) ::kill(reader, SIGKILL);
  ::close(said[0]);
  ::close(said[1]);
}

TEST(Isolated, ItsDeathIsAnInputError) {
  for (const int signal : {SIGABRT, SIGSEGV, SIGKILL}) {
    const std::string fault = FaultOf([&](std::string_view, RecordWriter&) {
      std::signal(signal, SIG_DFL);
      std::raise(signal);
    });
    EXPECT_NE(fault.find("scan.dcm: is damaged"), std::string::npos) << fault;
  }
  EXPECT_NE(FaultOf([](std::string_view, RecordWriter&) { ::_exit(3); }).find("is gone"), std::string::npos);
}

TEST(Isolated, DeadItStaysDead) {
  Isolated reader("x", [](std::string_view, RecordWriter&) { ::_exit(1); });
  for (int k = 0; k < 2; ++k)
    EXPECT_THROW(reader.Ask("", [](RecordReader& in) { in.Get<int>(); }), InputError);
}

TEST(Isolated, SeesNoFilesOfOurs) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  Isolated reader("x", [&](std::string_view, RecordWriter& out) {
    out.Put(::write(pipe[1], "x", 1) < 0);
    out.Put(::isatty(STDOUT_FILENO));
  });
  reader.Ask("", [](RecordReader& in) {
    EXPECT_TRUE(in.Get<bool>());
    EXPECT_EQ(in.Get<int>(), 0);
  });
  ::close(pipe[0]);
  ::close(pipe[1]);
}

#if !defined(LUMEN_SANITIZED)
TEST(Isolated, MemoryIsBounded) {
  const std::string fault = FaultOf([](std::string_view, RecordWriter& out) {
    const std::vector<char> much(size_t{6} << 30, 'x');
    out.Put(static_cast<int>(much[12345]));
  });
  EXPECT_NE(fault.find("memory"), std::string::npos) << fault;
}
#endif

}  // namespace
}  // namespace lumen
