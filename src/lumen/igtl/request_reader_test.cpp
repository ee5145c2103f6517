#include "lumen/igtl/request_reader.h"

#include <gtest/gtest.h>

#include "lumen/base/error.h"
#include "lumen/igtl/link_client_test.h"

namespace lumen {
namespace {

// Every request there is, with somebody else's messages between them.
std::string Everything() {
  return MakePlain("GET_STATUS") + MakePlain("TRANSFORM", std::string(48, 'x')) + MakePlain("GET_TRANS") +
         MakePlain("GET_IMAGE") + MakePlain("IMAGE", std::string(100000, '\1')) + MakePlain("GET_POLYDATA") +
         MakePlain("GET_STRING") + MakePlain("GET_CAPABIL") + MakeStartTracking(50) + MakePlain("STP_TDATA");
}

std::vector<LinkRequest> Kinds(const std::vector<LinkAsked>& asked) {
  std::vector<LinkRequest> kinds;
  for (const LinkAsked& each : asked) kinds.push_back(each.what);
  return kinds;
}

const std::vector<LinkRequest> kEverything = {
    LinkRequest::kStatus, LinkRequest::kTransform,  LinkRequest::kPicture,       LinkRequest::kSurface,
    LinkRequest::kText,   LinkRequest::kCapability, LinkRequest::kStartTracking, LinkRequest::kStopTracking};

TEST(IgtlRequests, AreReadHoweverTheyAreCut) {
  const std::string bytes = Everything();
  RequestReader whole;
  const std::vector<LinkAsked> asked = whole.Add(bytes);
  EXPECT_EQ(Kinds(asked), kEverything);
  EXPECT_EQ(asked[6].resolution_ms, 50);
  for (const size_t part : {1U, 7U, 58U, 4096U}) {
    RequestReader reader;
    std::vector<LinkRequest> kinds;
    for (size_t at = 0; at < bytes.size(); at += part)
      for (const LinkAsked& each : reader.Add(std::string_view(bytes).substr(at, part)))
        kinds.push_back(each.what);
    EXPECT_EQ(kinds, kEverything) << part;
  }
}

std::string FaultOf(const std::string& bytes) {
  RequestReader reader;
  try {
    reader.Add(bytes);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(IgtlRequests, WhatIsNoMessageIsRefused) {
  EXPECT_EQ(FaultOf("GET / HTTP/1.1\r\nHost: somewhere-that-is-not-here.example.org\r\n\r\n"),
            "what it sends is not OpenIGTLink");
  EXPECT_EQ(FaultOf(std::string(58, '\0')), "what it sends is not OpenIGTLink");
  EXPECT_EQ(FaultOf(MakePlain("GET_STATUS", "", 0)), "what it sends is not OpenIGTLink");
  EXPECT_EQ(FaultOf(MakePlain("GET_STATUS", "", 4)), "what it sends is not OpenIGTLink");
}

TEST(IgtlRequests, AnnouncedSizesAreBounded) {
  std::string endless = MakePlain("IMAGE");
  endless.replace(42, 8, std::string(8, '\xff'));
  EXPECT_EQ(FaultOf(endless), "it announces a IMAGE of 18446744073709551615 bytes");
  std::string large = MakePlain("STT_TDATA");
  large.replace(42, 8, BytesOut(4097, 8));
  EXPECT_EQ(FaultOf(large), "it announces a STT_TDATA of 4097 bytes");
}

TEST(IgtlRequests, ADamagedBodyIsRefused) {
  std::string bytes = MakeStartTracking(20);
  bytes.back() = 'x';
  EXPECT_EQ(FaultOf(bytes), "the checksum of a STT_TDATA is wrong");
}

// A body as newer versions have it: a header of its own, the content, metadata.
std::string Extended(int before, const std::string& content, const std::string& metadata) {
  return MakePlain("STT_TDATA",
                   BytesOut(static_cast<uint64_t>(before), 2) + BytesOut(0, 2) +
                       BytesOut(metadata.size(), 4) + BytesOut(7, 4) + content + metadata,
                   2);
}

TEST(IgtlRequests, OfNewerVersionsAreUnderstood) {
  RequestReader reader;
  const auto asked = reader.Add(Extended(12, BytesOut(40, 4) + std::string(32, '\0'), "key=value"));
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].resolution_ms, 40);
  EXPECT_EQ(FaultOf(Extended(4000, "", "")), "a message contradicts itself");
  EXPECT_EQ(FaultOf(Extended(3, "", "")), "a message contradicts itself");
}

TEST(IgtlRequests, NegativeResolutionsAreNone) {
  RequestReader reader;
  EXPECT_EQ(reader.Add(MakeStartTracking(-5)).at(0).resolution_ms, 0);
  EXPECT_EQ(reader.Add(MakePlain("STT_TDATA", "ab")).at(0).resolution_ms, 0);
}

}  // namespace
}  // namespace lumen
