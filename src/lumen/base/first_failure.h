// Things that are all to be tried, whatever becomes of the others; the first that failed is the one told of.
//   FirstFailure failure;
//   failure.Try([&] { SavePath(); });
//   failure.Try([&] { SaveMap(); });  // also if the path could not be saved
//   failure.Rethrow();
#pragma once

#include <exception>
#include <string>

namespace lumen {

class FirstFailure {
 public:
  template <typename Work>
  void Try(Work&& work) {
    try {
      work();
    } catch (...) {
      if (error_ == nullptr) error_ = std::current_exception();
    }
  }

  explicit operator bool() const { return error_ != nullptr; }
  // In words; empty if nothing failed.
  std::string Reason() const {
    if (error_ == nullptr) return "";
    try {
      std::rethrow_exception(error_);
    } catch (const std::exception& error) {
      return error.what();
    } catch (...) {
      return "something that is no exception was thrown";
    }
  }
  void Rethrow() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  std::exception_ptr error_;
};

}  // namespace lumen
