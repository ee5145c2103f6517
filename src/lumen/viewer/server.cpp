// The only file that includes Boost.Beast, which is heavy.
#include "lumen/viewer/server.h"

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <random>
#include <set>
#include <thread>

#include "lumen/base/error.h"
#include "lumen/base/step_back.h"
#include "lumen/base/text.h"

namespace lumen {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using boost::system::error_code;
using tcp = asio::ip::tcp;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

constexpr size_t kMostHeader = 8192;
constexpr size_t kMostBody = 1024;
constexpr size_t kMostMessage = 4096;  // from a client, which has little to say
constexpr auto kRequestTime = std::chrono::seconds(10);
constexpr auto kAcceptPause = std::chrono::milliseconds(200);

std::string MakeToken() {
  std::random_device device;
  std::string token;
  for (int i = 0; i < 32; ++i) token.push_back("0123456789abcdef"[device() % 16]);
  return token;
}

// Takes as long for a wrong guess as for a right one.
bool SameSecret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

std::string_view HostPart(std::string_view host) {
  if (!host.empty() && host.front() == '[') return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

std::string_view PathOf(std::string_view target) { return target.substr(0, target.find('?')); }

std::string_view TokenIn(std::string_view target) {
  const size_t at = target.find("?token=");
  if (at == std::string_view::npos) return {};
  const std::string_view rest = target.substr(at + 7);
  return rest.substr(0, rest.find('&'));
}

// A cookie belongs to a host, whatever the port; its name tells one server's from another's.
std::string CookieName(int port) { return StrCat("lumen_token_", port, "="); }

std::string_view CookieToken(std::string_view cookies, const std::string& name) {
  const size_t at = cookies.find(name);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = cookies.substr(at + name.size());
  return rest.substr(0, rest.find(';'));
}

std::string_view View(const beast::string_view& text) { return {text.data(), text.size()}; }

}  // namespace

class ViewServer::Impl {
 public:
  Impl(ItemStore& store, FindServed find, const ServerOptions& options);
  ~Impl();

  ItemStore& store;
  FindServed find;
  ServerOptions options;
  std::string token;
  int port = 0;
  std::atomic<int> clients = 0;  // WebSockets
  int connections = 0;           // of any kind; the server's thread alone

  class Connection;
  class Client;
  std::set<Client*> pumped;

  // Why this request is refused; empty if it is not.
  std::string Refuse(const Request& request) const;
  Response Answer(const Request& request) const;

 private:
  void Listen();
  void Accept();

  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_};
  asio::steady_timer pause_{context_};
  std::atomic<bool> wake_posted_ = false;
  std::thread thread_;
};

// A WebSocket: sends what is owed, one message at a time, and hands on what it says.
class ViewServer::Impl::Client : public std::enable_shared_from_this<Client> {
 public:
  Client(Impl& server, beast::tcp_stream stream) : server_(server), socket_(std::move(stream)) {
    ++server_.clients;
  }
  ~Client() {
    server_.pumped.erase(this);
    --server_.clients;
    --server_.connections;
  }
  void Start(const Request& request) {
    beast::get_lowest_layer(socket_).expires_never();
    websocket::stream_base::timeout limits{kRequestTime,
                                           std::chrono::seconds(server_.options.stalled_seconds), true};
    socket_.set_option(limits);
    socket_.read_message_max(kMostMessage);
    socket_.binary(true);
    socket_.async_accept(request, [self = shared_from_this()](error_code error) {
      if (error) return;
      self->server_.pumped.insert(self.get());
      self->Read();
      self->Pump();
    });
  }
  void Pump() {
    if (writing_) return;
    const ItemStore::Batch batch = server_.store.Since(known_, server_.options.most_batch_bytes);
    if (batch.items.empty()) return;
    writing_ = true;
    message_ = EncodeBatch(batch);
    known_ = batch.version;
    socket_.async_write(asio::buffer(message_), [self = shared_from_this()](error_code error, size_t) {
      self->writing_ = false;
      self->message_.clear();
      if (!error) self->Pump();
    });
  }

 private:
  void Read() {
    socket_.async_read(buffer_, [self = shared_from_this()](error_code error, size_t) {
      if (!error) self->HandOn();
      self->buffer_.consume(self->buffer_.size());
      if (!error) return self->Read();
      self->server_.pumped.erase(self.get());
      // Whatever ended the reading ends a write that a stalled client holds up, too.
      beast::get_lowest_layer(self->socket_).close();
    });
  }
  void HandOn() {
    if (!socket_.got_text() || !server_.options.on_message) return;
    try {
      server_.options.on_message(beast::buffers_to_string(buffer_.data()));
    } catch (const std::exception&) {
      // What a page says must not end the others' view.
    }
  }
  Impl& server_;
  websocket::stream<beast::tcp_stream> socket_;
  beast::flat_buffer buffer_;
  std::string message_;
  uint64_t known_ = 0;
  bool writing_ = false;
};

// One connection: requests one after the other, until it becomes a WebSocket.
class ViewServer::Impl::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Impl& server, tcp::socket socket) : server_(server), stream_(std::move(socket)) {
    ++server_.connections;
  }
  ~Connection() {
    if (!upgraded_) --server_.connections;
  }
  void Read() {
    parser_.emplace();
    parser_->header_limit(kMostHeader);
    parser_->body_limit(kMostBody);
    stream_.expires_after(kRequestTime);
    http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](error_code error, size_t) {
      if (error == http::error::end_of_stream || error == beast::error::timeout) return;
      if (error == http::error::header_limit || error == http::error::body_limit)
        return self->Send(Plain(http::status::payload_too_large, "too much"), false);
      if (error) return self->Send(Plain(http::status::bad_request, "not a request"), false);
      self->Handle(self->parser_->release());
    });
  }

 private:
  static Response Plain(http::status status, const std::string& text) {
    Response response(status, 11);
    response.set(http::field::content_type, "text/plain; charset=utf-8");
    response.body() = text + "\n";
    return response;
  }
  void Handle(const Request& request) {
    if (const std::string reason = server_.Refuse(request); !reason.empty())
      return Send(Plain(http::status::forbidden, reason), false);
    if (!websocket::is_upgrade(request)) return Send(server_.Answer(request), request.keep_alive());
    if (PathOf(View(request.target())) != "/ws")
      return Send(Plain(http::status::not_found, "not found"), false);
    if (server_.clients >= server_.options.most_clients)
      return Send(Plain(http::status::service_unavailable, "too many viewers"), false);
    upgraded_ = true;
    std::make_shared<Client>(server_, std::move(stream_))->Start(request);
  }
  void Send(Response response, bool keep_alive) {
    response.keep_alive(keep_alive);
    response.set(http::field::cache_control, "no-store");
    response.set("X-Content-Type-Options", "nosniff");
    response.set("X-Frame-Options", "DENY");
    response.set("Referrer-Policy", "no-referrer");
    response.set("Cross-Origin-Resource-Policy", "same-origin");
    response.set("Content-Security-Policy",
                 "default-src 'self'; img-src 'self' blob: data:; style-src 'self' 'unsafe-inline'; "
                 "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'");
    response.prepare_payload();
    auto kept = std::make_shared<Response>(std::move(response));
    stream_.expires_after(std::chrono::seconds(server_.options.stalled_seconds));
    http::async_write(stream_, *kept, [self = shared_from_this(), kept](error_code error, size_t) {
      if (!error && kept->keep_alive()) return self->Read();
      error_code ignored;
      self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    });
  }
  Impl& server_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  bool upgraded_ = false;
};

ViewServer::Impl::Impl(ItemStore& store_in, FindServed find_in, const ServerOptions& options_in)
    : store(store_in), find(std::move(find_in)), options(options_in) {
  Listen();
  Accept();
  store.OnChange([this] {
    if (!wake_posted_.exchange(true)) {
      asio::post(context_, [this] {
        wake_posted_ = false;
        for (Client* client : std::set<Client*>(pumped)) client->Pump();
      });
    }
  });
  thread_ = std::thread([this] {
    StepBack();
    context_.run();
  });
}

ViewServer::Impl::~Impl() {
  store.OnChange(nullptr);
  context_.stop();
  thread_.join();
}

void ViewServer::Impl::Listen() {
  error_code error;
  const asio::ip::address address = asio::ip::make_address(options.address, error);
  if (error) throw InputError(StrCat("address \"", options.address, "\" is not an IP address"));
  if (!address.is_loopback()) token = options.token.empty() ? MakeToken() : options.token;
  acceptor_.open(address.is_v6() ? tcp::v6() : tcp::v4());
  acceptor_.set_option(tcp::acceptor::reuse_address(true));
  for (int tried = 0; tried <= options.ports_tried; ++tried) {
    acceptor_.bind({address, static_cast<unsigned short>(options.port + tried)}, error);
    if (!error) break;
    if (options.port + tried >= 65535) break;
  }
  if (!error) acceptor_.listen(64, error);
  if (error)
    throw InputError(
        StrCat("no port from ", options.port, " on can be had at ", options.address, ": ", error.message()));
  port = acceptor_.local_endpoint().port();
}

void ViewServer::Impl::Accept() {
  acceptor_.async_accept([this](error_code error, tcp::socket socket) {
    // Beyond the limit a connection is closed at once, so that nobody can use up all descriptors.
    if (!error && connections < 4 * options.most_clients)
      std::make_shared<Connection>(*this, std::move(socket))->Read();
    if (!acceptor_.is_open()) return;
    if (!error) return Accept();
    // There are no descriptors left, most likely, and asking again at once would not make any.
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([this](error_code) { Accept(); });
  });
}

std::string ViewServer::Impl::Refuse(const Request& request) const {
  const std::string_view host = View(request[http::field::host]);
  const std::string_view name = HostPart(host);
  if (token.empty()) {
    // A page elsewhere may let its own name point here; its requests then carry that name.
    const bool ours =
        name == "localhost" || name == "127.0.0.1" || name == "[::1]" || name == options.address;
    constexpr int kPortThatIsLeftOut = 80;
    const std::string_view said = host.substr(name.size());
    if (!ours || (said != StrCat(":", port) && !(said.empty() && port == kPortThatIsLeftOut)))
      return "this is not the host that was asked for";
  } else if (!SameSecret(TokenIn(View(request.target())), token) &&
             !SameSecret(CookieToken(View(request[http::field::cookie]), CookieName(port)), token)) {
    return "the address needs its token: open it as lumen printed it";
  }
  const auto origin = request.find(http::field::origin);
  if (origin != request.end() && View(origin->value()) != StrCat("http://", host))
    return "requests from other pages are not answered";
  return "";
}

Response ViewServer::Impl::Answer(const Request& request) const {
  Response response(http::status::ok, request.version());
  const auto plain = [&](http::status status, const char* text) {
    response.result(status);
    response.set(http::field::content_type, "text/plain; charset=utf-8");
    response.body() = text;
  };
  if (request.method() != http::verb::get && request.method() != http::verb::head) {
    plain(http::status::method_not_allowed, "only GET\n");
    return response;
  }
  std::optional<ServedFile> file;
  try {
    file = find(std::string(PathOf(View(request.target()))));
  } catch (const std::exception&) {
    plain(http::status::internal_server_error, "cannot be read\n");
    return response;
  }
  if (!file) {
    plain(http::status::not_found, "not found\n");
    return response;
  }
  response.set(http::field::content_type, file->type);
  if (!file->download.empty())
    response.set(http::field::content_disposition, StrCat("attachment; filename=\"", file->download, "\""));
  if (!token.empty())
    response.set(http::field::set_cookie,
                 StrCat(CookieName(port), token, "; HttpOnly; SameSite=Strict; Path=/"));
  if (request.method() == http::verb::get) response.body() = std::move(file->bytes);
  return response;
}

ViewServer::ViewServer(ItemStore& store, FindServed find, const ServerOptions& options)
    : impl_(std::make_unique<Impl>(store, std::move(find), options)) {}
ViewServer::~ViewServer() = default;
int ViewServer::Port() const { return impl_->port; }
const std::string& ViewServer::Token() const { return impl_->token; }
int ViewServer::Clients() const { return impl_->clients; }
std::string ViewServer::Url() const {
  const bool v6 = impl_->options.address.find(':') != std::string::npos;
  const std::string host = v6 ? StrCat("[", impl_->options.address, "]") : impl_->options.address;
  return StrCat("http://", host, ":", impl_->port, "/",
                impl_->token.empty() ? "" : StrCat("?token=", impl_->token));
}

}  // namespace lumen
