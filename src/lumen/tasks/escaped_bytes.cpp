#include "lumen/tasks/escaped_bytes.h"

#include <charconv>

#include "lumen/base/text.h"

namespace lumen {

std::string EscapeBytes(std::string_view bytes) {
  const bool is_text = ToValidUtf8(bytes) == bytes;
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c != '%' && (is_text || byte < 0x80)) {
      text += c;
    } else {
      constexpr const char* kDigits = "0123456789ABCDEF";
      text += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return text;
}

std::string UnescapeBytes(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      bytes += static_cast<char>(byte);
      i += 2;
    } else {
      bytes += text[i];
    }
  }
  return bytes;
}

}  // namespace lumen
