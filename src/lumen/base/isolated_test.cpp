#include "lumen/base/isolated.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <new>

#include "lumen/base/error.h"

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

TEST(Isolated, ItsFaultsAreOurs) {
  EXPECT_EQ(FaultOf([](std::string_view, RecordWriter&) { throw InputError("slice 7", "is cut short"); }),
            "slice 7: is cut short");
  EXPECT_NE(FaultOf([](std::string_view, RecordWriter&) { throw std::bad_alloc(); }).find("memory"),
            std::string::npos);
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

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
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
