// What a run told of the CT while it went on, in its folder: each frame's place once, as it was told then and
// never put right later; what is known in the end is in registration/.
#pragma once

#include <filesystem>
#include <mutex>

#include "lumen/apps/navigation.h"
#include "lumen/base/file.h"
#include "lumen/base/ticker.h"

namespace lumen {

class CtRecord : public NavigationListener {
 public:
  explicit CtRecord(std::filesystem::path folder);
  ~CtRecord() override;
  CtRecord(const CtRecord&) = delete;
  CtRecord& operator=(const CtRecord&) = delete;

  void OnFrame(const NavigatedFrame& frame) override;

 private:
  void Write();

  std::filesystem::path folder_;
  std::mutex mutex_;
  std::string places_, doubts_;                            // lines that are not on the disk
  std::unique_ptr<AppendFile> places_file_, doubts_file_;  // the ticker's
  Ticker ticker_;                                          // last: it starts when everything else stands
};

}  // namespace lumen
