#include "lumen/train/meeting.h"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "lumen/base/error.h"
#include "lumen/train/peers.h"

namespace lumen {

namespace {

constexpr const char* kStopped = "stopped";  // who failed and why, by the first who failed
constexpr const char* kFailed = "failed";    // how many did
constexpr const char* kTold = "told";        // rank 0 has taken it up

std::chrono::milliseconds Milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(1000 * seconds));
}

std::vector<uint8_t> ToBytes(const std::string& text) { return {text.begin(), text.end()}; }

c10::intrusive_ptr<c10d::TCPStore> Open(const RankPlace& place, bool keeps, double wait) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(place.port);
  options.isServer = keeps;
  options.waitWorkers = false;
  options.timeout = Milliseconds(wait);
  return c10::make_intrusive<c10d::TCPStore>(place.master, options);
}

}  // namespace

std::string FirstLine(const std::exception& error) {
  const std::string what = error.what();
  return what.substr(0, what.find('\n'));
}

Meeting::Meeting(const RankPlace& place, const WatchTimes& times)
    : place_(place), times_(times), prefix_(StrCat("lumen/", place.round, "/")) {
  const bool keeps = place.rank == 0 && !place.hosted;
  try {
    store_ = Open(place, keeps, times.meeting);
  } catch (const std::exception& error) {
    throw InputError(
        keeps ? StrCat("rank 0 cannot open port ", place.port, " for the others: ", FirstLine(error))
              : StrCat("rank ", place.rank, " finds no rank 0 at ", place.master, ":", place.port, ": ",
                       FirstLine(error)));
  }
  place_.port = store_->getPort();
  heard_.resize(static_cast<size_t>(place.ranks));
  heard_at_.resize(static_cast<size_t>(place.ranks));
  for (int rank = 0; rank < place.ranks; ++rank) names_.push_back(StrCat("rank ", rank));
}

Meeting::~Meeting() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (watch_.joinable()) watch_.join();
  if (guard_.joinable()) guard_.join();
}

c10::intrusive_ptr<c10d::Store> Meeting::OpenTable() const {
  return c10::make_intrusive<c10d::PrefixStore>(prefix_ + "c10d", Open(place_, false, times_.meeting));
}

void Meeting::Write(const std::string& name, const std::string& text) {
  store_->set(Key(name), ToBytes(text));
}

bool Meeting::Has(const std::string& name) { return store_->check({Key(name)}); }

std::string Meeting::Read(const std::string& name) {
  constexpr double kFirst = 0.01;
  constexpr double kLongest = 0.2;
  const double start = Now();
  for (double pause = kFirst; !Has(name); pause = std::min(2 * pause, kLongest)) {
    if (const std::string who = WhoFailed(false); !who.empty()) throw PeerLost(who);
    if (Now() - start > times_.meeting)
      throw InputError(
          StrCat("not all ", place_.ranks, " ranks came within ", times_.meeting, " s (", name, ")"));
    std::this_thread::sleep_for(Milliseconds(pause));
  }
  const std::vector<uint8_t> bytes = store_->get(Key(name));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::string> Meeting::Gather(const std::string& name, const std::string& mine) {
  Write(StrCat(name, "/", place_.rank), mine);
  std::vector<std::string> all;
  for (int rank = 0; rank < place_.ranks; ++rank) all.push_back(Read(StrCat(name, "/", rank)));
  return all;
}

void Meeting::SetNames(std::vector<std::string> names) {
  const std::lock_guard lock(mutex_);
  names_ = std::move(names);
}

std::string Meeting::NameOf(int rank) {
  const std::lock_guard lock(mutex_);
  return names_.at(static_cast<size_t>(rank));
}

void Meeting::Watch(std::function<std::string()> fallen) {
  fallen_ = std::move(fallen);
  std::fill(heard_at_.begin(), heard_at_.end(), Now());
  looked_at_ = Now();
  watch_ = std::thread([this] { Run(); });
  guard_ = std::thread([this] { Guard(); });
}

bool Meeting::Pause(double seconds) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, Milliseconds(seconds), [&] { return over_; });
  return !over_;
}

void Meeting::SetLost(const std::string& who) {
  {
    const std::lock_guard lock(mutex_);
    if (!lost_.empty()) return;
    lost_ = who;
    lost_at_ = Now();
  }
  changed_.notify_all();
}

void Meeting::Run() {
  constexpr double kSoon = 0.3;
  while (Pause(suspected_ ? kSoon : times_.beat)) {
    try {
      Look();
    } catch (const std::exception&) {
      if (!leaving_) SetLost(StrCat(NameOf(0), " is gone"));
    }
    looked_at_ = Now();
  }
}

void Meeting::Look() {
  if (place_.rank != 0 && Has(kTold)) told_ = true;
  if (leaving_) return;
  Write(StrCat("alive/", place_.rank), StrCat(++beat_));
  if (Has(kStopped)) {
    const std::vector<uint8_t> bytes = store_->get(Key(kStopped));
    if (place_.rank == 0) Write(kTold, "");
    SetLost({bytes.begin(), bytes.end()});
  } else if (place_.rank == 0) {
    LookForTheFallen();
  } else if (const std::string who = FindSilent(); !who.empty()) {
    SetLost(who);
  }
}

void Meeting::LookForTheFallen() {
  std::string who = fallen_ ? fallen_() : "";
  if (who.empty()) who = FindSilent();
  if (who.empty()) return;
  // Whoever fell may have said why a moment ago.
  if (store_->add(Key(kFailed), 1) == 1) {
    Write(kStopped, who);
  } else {
    who = Read(kStopped);
  }
  Write(kTold, "");
  SetLost(who);
}

// Since when nothing new was heard of a rank, in seconds.
double Meeting::SilenceOf(int rank) {
  const auto r = static_cast<size_t>(rank);
  const std::string key = StrCat("alive/", rank);
  if (Has(key)) {
    const std::vector<uint8_t> bytes = store_->get(Key(key));
    const std::string sign(bytes.begin(), bytes.end());
    if (sign != heard_[r]) {
      heard_[r] = sign;
      heard_at_[r] = Now();
    }
  }
  return Now() - heard_at_[r];
}

// Rank 0 listens to all others, they listen to it.
std::string Meeting::FindSilent() {
  const int first = place_.rank == 0 ? 1 : 0;
  const int end = place_.rank == 0 ? place_.ranks : 1;
  for (int rank = first; rank < end; ++rank) {
    if (Has(StrCat("left/", rank))) continue;
    const double silence = SilenceOf(rank);
    const bool on_its_way = heard_[static_cast<size_t>(rank)].empty();
    double allowed = on_its_way ? times_.meeting : times_.silence;
    if (suspected_) allowed = times_.suspected;
    if (silence > allowed)
      return StrCat(NameOf(rank), " has given no sign of life for ", std::lround(silence), " s");
  }
  return "";
}

// A thread that asks nobody anything: the others may hang, in a sum that waits for somebody who is no more or
// in a question to a machine without power.
void Meeting::Guard() {
  while (Pause(times_.beat)) {
    if (!leaving_ && Now() - looked_at_ > times_.silence + 2 * times_.beat)
      SetLost(StrCat(NameOf(0), " does not answer any more"));
    EndIfNobodyElseDoes();
  }
}

void Meeting::EndIfNobodyElseDoes() {
  constexpr int kCode = 6;
  constexpr double kWhoKnows = 3;  // times as long: it may have something to save
  const std::lock_guard lock(mutex_);
  const bool ending = known_ || leaving_;
  if (lost_.empty() || Now() - lost_at_ < (ending ? kWhoKnows : 1) * times_.grace) return;
  if (place_.rank == 0 || !told_) std::fprintf(stderr, "lumen train: %s\n", lost_.c_str());
  std::fflush(stderr);
  std::_Exit(kCode);
}

std::string Meeting::WhoFailed(bool certain) {
  std::unique_lock lock(mutex_);
  if (certain) {
    known_ = suspected_ = true;
    const double longest = times_.silence + 3 * times_.beat;
    changed_.wait_for(lock, Milliseconds(longest), [&] { return !lost_.empty(); });
  }
  if (!lost_.empty()) known_ = true;
  return lost_;
}

bool Meeting::Fail(const std::string& reason) {
  constexpr double kPause = 0.05;
  leaving_ = true;
  try {
    if (store_->add(Key(kFailed), 1) == 1) Write(kStopped, StrCat(NameOf(place_.rank), ": ", reason));
    if (place_.rank == 0) Write(kTold, "");
    const double start = Now();
    while (place_.rank != 0 && !Has(kTold) && Now() - start < 4 * times_.beat)
      std::this_thread::sleep_for(Milliseconds(kPause));
    const bool told = place_.rank != 0 && Has(kTold);
    Leave();
    return told;
  } catch (const std::exception&) {
    return told_;  // nobody is there any more
  }
}

void Meeting::Leave() {
  constexpr double kPause = 0.02;
  leaving_ = true;
  try {
    Write(StrCat("left/", place_.rank), "");
    if (place_.rank != 0) return;
    const double start = Now();
    for (int rank = 1; rank < place_.ranks; ++rank)
      while (!Has(StrCat("left/", rank)) && Now() - start < 4 * times_.beat)
        std::this_thread::sleep_for(Milliseconds(kPause));
  } catch (const std::exception&) {
    // Nobody is there to wait for.
  }
}

}  // namespace lumen
