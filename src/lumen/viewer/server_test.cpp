// The server as its friends and its enemies see it: raw sockets.
#include "lumen/viewer/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <thread>

#include "lumen/base/error.h"
#include "lumen/base/text.h"
#include "lumen/viewer/page.h"

namespace lumen {
namespace {

class RawClient {
 public:
  explicit RawClient(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    const timeval patience{5, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ~RawClient() { close(socket_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool Send(const std::string& text) {
    return send(socket_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  // Until `bytes` are there, or the server says no more.
  std::string Receive(size_t bytes) {
    std::string text;
    char part[65536];
    while (text.size() < bytes) {
      const ssize_t got = recv(socket_, part, std::min(sizeof(part), bytes - text.size()), 0);
      if (got <= 0) break;
      text.append(part, static_cast<size_t>(got));
    }
    return text;
  }
  std::string ReceiveAll() { return Receive(1 << 26); }
  std::string ReceiveHead() {
    std::string head;
    while (head.find("\r\n\r\n") == std::string::npos) {
      const std::string next = Receive(1);
      if (next.empty()) break;
      head += next;
    }
    return head;
  }

 private:
  int socket_;
};

class Serving : public ::testing::Test {
 protected:
  // These clients answer no ping; on a slow machine they take more than half a minute all the same.
  Serving() : Serving({.port = 0, .ports_tried = 0, .most_clients = 4, .stalled_seconds = 600}) {}
  explicit Serving(const ServerOptions& options)
      : server(
            store, [](const std::string& path) { return Find(path); }, options) {}

  static std::optional<ServedFile> Find(const std::string& path) {
    if (path == "/broken") throw InputError("a file that cannot be read");
    if (path == "/hello") return ServedFile{"text/plain", "hello", ""};
    return FindPageFile(path);
  }
  std::string Host() const { return StrCat("127.0.0.1:", server.Port()); }
  std::string Ask(const std::string& request) const {
    RawClient client(server.Port());
    client.Send(request);
    return client.ReceiveAll();
  }
  std::string Get(const std::string& path, const std::string& more = "") const {
    return Ask(
        StrCat("GET ", path, " HTTP/1.1\r\nHost: ", Host(), "\r\nConnection: close\r\n", more, "\r\n"));
  }
  std::string Upgrade(const std::string& more = "", const std::string& path = "/ws") const {
    return StrCat("GET ", path, " HTTP/1.1\r\nHost: ", Host(),
                  "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
                  more, "\r\n");
  }
  ItemStore store;
  ViewServer server;
};

std::string Status(const std::string& answer) { return answer.substr(0, 12); }

TEST_F(Serving, ThePageIsThereAndSaysWhatItMayLoad) {
  const std::string answer = Get("/");
  EXPECT_EQ(Status(answer), "HTTP/1.1 200");
  EXPECT_NE(answer.find("Lumen"), std::string::npos);
  EXPECT_NE(answer.find("Content-Security-Policy: default-src 'self'"), std::string::npos);
  EXPECT_NE(answer.find("nosniff"), std::string::npos);
}

TEST_F(Serving, UnknownPathsAreNotFoundAndNothingOutsideTheListIsServed) {
  for (const char* path :
       {"/nothing", "/../../etc/passwd", "/etc/passwd", "//etc/passwd", "/%2e%2e/%2e%2e/etc/passwd",
        "/index.html/../../x", "/download/../summary.json", "/frame/-1.png", "/frame/x.png"}) {
    const std::string answer = Get(path);
    EXPECT_EQ(Status(answer), "HTTP/1.1 404") << path;
    EXPECT_EQ(answer.find("root:"), std::string::npos) << path;
    EXPECT_EQ(answer.find("<html"), std::string::npos) << path;
  }
  EXPECT_EQ(Status(Get("/broken")), "HTTP/1.1 500");
  EXPECT_NE(Get("/hello").find("\r\n\r\nhello"), std::string::npos) << "it goes on afterwards";
}

TEST_F(Serving, OtherHostsAndOtherPagesAreRefused) {
  EXPECT_EQ(Status(Ask("GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")), "HTTP/1.1 403");
  EXPECT_EQ(Status(Ask(StrCat("GET / HTTP/1.1\r\nHost: evil.example:", server.Port(), "\r\n\r\n"))),
            "HTTP/1.1 403");
  EXPECT_EQ(Status(Ask("GET / HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n")), "HTTP/1.1 403");
  EXPECT_EQ(Status(Ask("GET / HTTP/1.1\r\n\r\n")), "HTTP/1.1 403");
  EXPECT_EQ(Status(Get("/", "Origin: http://evil.example\r\n")), "HTTP/1.1 403");
  EXPECT_EQ(Status(Get("/", "Origin: null\r\n")), "HTTP/1.1 403");
  EXPECT_EQ(Status(Get("/", StrCat("Origin: http://", Host(), "\r\n"))), "HTTP/1.1 200");
  EXPECT_EQ(Status(Ask(Upgrade("Origin: http://evil.example\r\n"))), "HTTP/1.1 403");
  EXPECT_EQ(Status(Ask(Upgrade("", "/other"))), "HTTP/1.1 404");
}

TEST_F(Serving, OnlyGetAndHead) {
  const std::string tail = StrCat(" /hello HTTP/1.1\r\nHost: ", Host(), "\r\nConnection: close\r\n\r\n");
  for (const char* verb : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE"})
    EXPECT_EQ(Status(Ask(verb + tail)), "HTTP/1.1 405") << verb;
  const std::string head = Ask("HEAD" + tail);
  EXPECT_EQ(Status(head), "HTTP/1.1 200");
  EXPECT_EQ(head.find("\r\n\r\nhello"), std::string::npos);
}

TEST_F(Serving, GarbageAndTooMuchAreTurnedAwayAndItGoesOn) {
  EXPECT_EQ(Status(Ask(std::string("\x16\x03\x01\x02garbage\r\n\r\n"))), "HTTP/1.1 400");
  EXPECT_NE(Status(Ask(StrCat("GET /hello HTTP/1.1\r\nHost: ", Host(), "\r\nX: ", std::string(100000, 'a'),
                              "\r\n\r\n"))),
            "HTTP/1.1 200");
  EXPECT_EQ(
      Status(Ask(StrCat("GET /hello HTTP/1.1\r\nHost: ", Host(), "\r\nContent-Length: 999999999\r\n\r\n"))),
      "HTTP/1.1 413");
  EXPECT_EQ(Status(Get("/hello")), "HTTP/1.1 200");
}

TEST_F(Serving, AClientGetsTheStateAndWhatChanges) {
  store.Put(ItemKind::kInfo, 0, "first");
  RawClient client(server.Port());
  client.Send(Upgrade());
  EXPECT_EQ(Status(client.ReceiveHead()), "HTTP/1.1 101");
  // A frame of 126 bytes or fewer: two bytes of head. The batch: 16 bytes, then 12 and the item's, padded.
  EXPECT_NE(client.Receive(2 + 16 + 12 + 8).find("first"), std::string::npos);
  store.Put(ItemKind::kInfo, 0, "later");
  EXPECT_NE(client.Receive(2 + 16 + 12 + 8).find("later"), std::string::npos);
}

TEST_F(Serving, NoMoreClientsThanAllowed) {
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<RawClient>(server.Port()));
    clients.back()->Send(Upgrade());
    EXPECT_EQ(Status(clients.back()->ReceiveHead()), "HTTP/1.1 101");
  }
  EXPECT_EQ(Status(Ask(Upgrade())), "HTTP/1.1 503");
  clients.pop_back();
  for (int i = 0; i < 200 && server.Clients() > 3; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(server.Clients(), 3);
}

TEST_F(Serving, AMessageTooLargeEndsTheClient) {
  RawClient client(server.Port());
  client.Send(Upgrade());
  client.ReceiveHead();
  // A masked binary frame that says it has 1 MB.
  client.Send(std::string("\x82\xff\x00\x00\x00\x00\x00\x10\x00\x00mask", 14) + std::string(4096, 'x'));
  for (int i = 0; i < 200 && server.Clients() > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(server.Clients(), 0);
}

// A masked frame, as clients must send them; the mask is all zeros.
std::string MaskedText(const std::string& text, char kind = '\x81') {
  std::string frame(1, kind);
  if (text.size() < 126) {
    frame += static_cast<char>(0x80 | text.size());
  } else {
    frame += static_cast<char>(0x80 | 126);
    frame += static_cast<char>(text.size() >> 8);
    frame += static_cast<char>(text.size() & 0xff);
  }
  return frame + std::string(4, '\0') + text;
}

TEST(Server, HandsOnWhatAPageSays) {
  ItemStore store;
  std::mutex mutex;
  std::vector<std::string> heard;
  ServerOptions options{.port = 0, .ports_tried = 0};
  options.on_message = [&](const std::string& message) {
    const std::lock_guard lock(mutex);
    heard.push_back(message);
    throw InputError("what a listener throws ends nothing");
  };
  const ViewServer server(
      store, [](const std::string&) { return std::optional<ServedFile>(); }, options);
  RawClient client(server.Port());
  const std::string host = StrCat("127.0.0.1:", server.Port());
  client.Send(StrCat("GET /ws HTTP/1.1\r\nHost: ", host,
                     "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"));
  client.ReceiveHead();
  client.Send(MaskedText("first") + MaskedText("bytes", '\x82') + MaskedText(std::string(4000, 'x')) +
              MaskedText("last"));
  const auto count = [&] {
    const std::lock_guard lock(mutex);
    return heard.size();
  };
  for (int i = 0; i < 500 && count() < 3; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_EQ(count(), 3U) << "text alone, and nobody is let go for it";
  EXPECT_EQ(heard.front(), "first");
  EXPECT_EQ(heard.back(), "last");
  client.Send(MaskedText(std::string(5000, 'x')));
  for (int i = 0; i < 500 && server.Clients() > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(server.Clients(), 0) << "more than a page has to say";
  EXPECT_EQ(count(), 3U);
}

TEST_F(Serving, AStalledClientHoldsUpNobody) {
  RawClient stalled(server.Port());
  stalled.Send(Upgrade());
  stalled.ReceiveHead();  // and then reads nothing any more
  for (uint32_t i = 0; i < 2000; ++i)
    store.Put(ItemKind::kCloud, i, std::string(25000, static_cast<char>(i)));
  store.Put(ItemKind::kStatus, 0, "the newest");
  RawClient quick(server.Port());
  quick.Send(Upgrade());
  quick.ReceiveHead();
  std::string last;
  size_t received = 0;
  while (last.find("the newest") == std::string::npos) {
    const std::string part = quick.Receive(1 << 16);
    if (part.empty()) break;
    received += part.size();
    last = (last.size() > 64 ? last.substr(last.size() - 64) : last) + part;
    if (part.size() < (1 << 16)) break;
    if (received > 60000000) break;
  }
  EXPECT_GT(received, 49000000U);
}

class ServingAll : public Serving {
 protected:
  ServingAll() : Serving(ServerOptions{.address = "0.0.0.0", .port = 0, .ports_tried = 0}) {}
};

TEST_F(ServingAll, OtherAddressesNeedTheirToken) {
  ASSERT_EQ(server.Token().size(), 32U);
  EXPECT_EQ(Status(Get("/")), "HTTP/1.1 403");
  EXPECT_EQ(Status(Get("/?token=")), "HTTP/1.1 403");
  EXPECT_EQ(Status(Get("/?token=" + std::string(32, '0'))), "HTTP/1.1 403");
  EXPECT_EQ(Status(Ask(Upgrade())), "HTTP/1.1 403");
  const std::string answer = Get("/?token=" + server.Token());
  EXPECT_EQ(Status(answer), "HTTP/1.1 200");
  EXPECT_NE(answer.find("HttpOnly; SameSite=Strict"), std::string::npos);
  const auto with_cookie = [&](int port) {
    return Status(Get("/hello", StrCat("Cookie: lumen_token_", port, "=", server.Token(), "\r\n")));
  };
  EXPECT_EQ(with_cookie(server.Port()), "HTTP/1.1 200");
  EXPECT_EQ(with_cookie(server.Port() + 1), "HTTP/1.1 403") << "that one is another server's";
  EXPECT_NE(server.Url().find("?token="), std::string::npos);
}

// The view of a finished run takes the place of the live one: pages that are open go on.
TEST(Server, ATokenCanBeHandedOn) {
  ItemStore store;
  const auto nothing = [](const std::string&) { return std::optional<ServedFile>(); };
  ServerOptions options{.address = "0.0.0.0", .port = 0, .ports_tried = 0};
  {
    const ViewServer live(store, nothing, options);
    options.token = live.Token();
  }
  EXPECT_EQ(ViewServer(store, nothing, options).Token(), options.token);
  options.address = "127.0.0.1";
  EXPECT_EQ(ViewServer(store, nothing, options).Token(), "") << "the loopback needs none";
}

TEST(Server, APortInUseIsPassedOver) {
  ItemStore one, two;
  const auto nothing = [](const std::string&) { return std::optional<ServedFile>(); };
  const ViewServer first(one, nothing, {.port = 0, .ports_tried = 0});
  const ViewServer second(two, nothing, {.port = first.Port(), .ports_tried = 20});
  EXPECT_GT(second.Port(), first.Port());
  ItemStore three;
  EXPECT_THROW(ViewServer(three, nothing, {.port = first.Port(), .ports_tried = 0}), InputError);
  EXPECT_THROW(ViewServer(three, nothing, {.address = "not an address"}), InputError);
}

}  // namespace
}  // namespace lumen
