#include "lumen/base/error.h"

#include <gtest/gtest.h>

namespace lumen {
namespace {

TEST(Error, BrokenContractNamesFileLineConditionAndMessage) {
  try {
    LUMEN_CHECK(1 > 2, "one is ", 1);
    FAIL();
  } catch (const ContractError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("error_test.cpp:"), std::string::npos);
    EXPECT_NE(what.find("1 > 2"), std::string::npos);
    EXPECT_NE(what.find("one is 1"), std::string::npos);
  }
}

TEST(Error, InputErrorNamesPathAndReason) {
  EXPECT_STREQ(InputError("a/b.png", "is cut short").what(), "a/b.png: is cut short");
}

}  // namespace
}  // namespace lumen
