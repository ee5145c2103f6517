// The last few things that were asked for, each made when it is first asked for. May be asked from any
// thread; what takes long to make is better made by the thing itself, once, outside of here.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

namespace lumen {

template <typename T>
class LastFew {
 public:
  explicit LastFew(size_t most) : most_(most) {}

  // The one that `is` says yes to, or what `make` makes.
  template <typename Is, typename Make>
  std::shared_ptr<T> Of(const Is& is, const Make& make) {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(kept_.begin(), kept_.end(), [&](const std::shared_ptr<T>& kept) { return is(*kept); });
    if (found != kept_.end()) {
      std::rotate(found, found + 1, kept_.end());
    } else {
      if (kept_.size() == most_) kept_.erase(kept_.begin());
      kept_.push_back(make());
    }
    return kept_.back();
  }

 private:
  size_t most_;  // at least one
  std::mutex mutex_;
  std::vector<std::shared_ptr<T>> kept_;  // the last asked for at the end
};

}  // namespace lumen
