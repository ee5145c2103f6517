// A small run that is viewed, and a visitor of the server that shows it.
#pragma once

#include <netinet/in.h>

#include <string>

#include "lumen/viewer/run_view.h"

namespace lumen::fuzz {

// Made when first asked for: two keyframes with a map, a surface and pictures.
RunView& ServedRun();

// A connection goes on being made while a signal is taken, libFuzzer's clock for one, which only the call to
// connect() does not outlast.
bool ConnectTo(int socket, const sockaddr_in& address, int patience_ms);

// A server of that run which goes on from input to input.
class Visit {
 public:
  Visit();  // connects
  ~Visit();
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  static std::string Host();  // "127.0.0.1:8642"
  void Send(const std::string& bytes);
  std::string ReceiveHead();  // up to and including the empty line
  // Says that nothing more will come, and takes what the server has to say until it closes.
  std::string Finish();

 private:
  std::string Receive(size_t most);
  int socket_;
};

// The server still answers somebody who asks properly; asked after every few inputs.
void ExpectItGoesOn();

}  // namespace lumen::fuzz
