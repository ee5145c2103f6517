// Serves the page and the state of a view to browsers: HTTP for what does not change, a WebSocket for what
// does. One thread of its own; whoever changes the state never waits for a client. Knows no files: it serves
// what it was given, under the names it was given, and nothing else.
//
// Who may ask: the server binds to the loopback address; any other address needs a random token in the
// page's address. Requests whose Host is not this server, or whose Origin is another page, are refused.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lumen/viewer/item_store.h"

namespace lumen {

struct ServerOptions {
  std::string address = "127.0.0.1";
  int port = 8642;
  int ports_tried = 20;  // if that one is taken: the next, and the next; 0: any free one
  int most_clients = 16;
  size_t most_batch_bytes = 256 * 1024;
  std::string token =
      {};  // beyond the loopback: that of a server before this one, whose pages go on; empty: new
  int stalled_seconds = 30;  // a client that takes nothing for so long is let go
  // What a page says: text of at most 4 kB, whatever it holds. Called on the server's thread; null: nobody
  // listens.
  std::function<void(const std::string& message)> on_message = {};
};

struct ServedFile {
  std::string type;  // "text/html; charset=utf-8"
  std::string bytes;
  std::string download;  // the name under which a browser saves it; empty: it shows it
};
// What lies under a path ("/surface.bin"), if anything does. Called on the server's thread.
using FindServed = std::function<std::optional<ServedFile>(const std::string& path)>;

class ViewServer {
 public:
  // Throws InputError if no port can be had.
  ViewServer(ItemStore& store, FindServed find, const ServerOptions& options = {});
  ~ViewServer();
  ViewServer(const ViewServer&) = delete;
  ViewServer& operator=(const ViewServer&) = delete;

  int Port() const;
  const std::string& Token() const;  // empty on the loopback address
  std::string Url() const;           // what to open
  int Clients() const;               // that are connected now

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lumen
