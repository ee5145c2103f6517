#include "fuzz/fuzz.h"
#include "lumen/io/tar_stream.h"

namespace lumen::fuzz {
namespace {

void ReadTar(const std::string& input) {
  TarStream stream(WriteScratch("a.tar.gz", input));
  bool read = true;  // every second one; what is not read is passed over
  while (const auto entry = stream.Next()) {
    if (read) Expect(stream.Read().size() == entry->bytes, "a file is as long as it says");
    read = !read;
  }
}

const Registration kTarget("tar", ReadTar);

}  // namespace
}  // namespace lumen::fuzz
