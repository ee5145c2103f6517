// What a client sends over the viewer's WebSocket, once it is open.
#include "fuzz/fuzz.h"
#include "fuzz/served_run.h"
#include "lumen/base/text.h"

namespace lumen::fuzz {
namespace {

void ReadMessages(const std::string& input) {
  Visit visit;
  visit.Send(StrCat("GET /ws HTTP/1.1\r\nHost: ", Visit::Host(),
                    "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"));
  Expect(StartsWith(visit.ReceiveHead(), "HTTP/1.1 101"), "the server opens a WebSocket");
  visit.Send(input);
  visit.Finish();
  ExpectItGoesOn();
}

const Registration kTarget("websocket", ReadMessages, [] { Visit::Host(); });

}  // namespace
}  // namespace lumen::fuzz
