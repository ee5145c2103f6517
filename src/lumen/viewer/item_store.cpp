#include "lumen/viewer/item_store.h"

#include <algorithm>

#include "lumen/base/disk_memory.h"
#include "lumen/viewer/bytes.h"

namespace lumen {

ItemBytes::ItemBytes(std::string bytes, Kept kept) {
  if (kept == Kept::kInMemory || bytes.empty()) {
    bytes_ = std::move(bytes);
    return;
  }
  size_ = bytes.size();
  disk_ = static_cast<char*>(DiskMemory::Instance().allocate(size_, 1));
  std::copy(bytes.begin(), bytes.end(), disk_);
  LetGo();
}

ItemBytes::~ItemBytes() {
  if (disk_ != nullptr) DiskMemory::Instance().deallocate(disk_, size_, 1);
}

void ItemBytes::LetGo() const {
  if (disk_ != nullptr) DiskMemory::Instance().LetGo(disk_);
}

void ItemStore::Put(ItemKind kind, uint32_t id, std::string bytes, Kept kept) {
  {
    const std::lock_guard lock(mutex_);
    const Key key{static_cast<uint8_t>(kind), id};
    Item& item = items_[key];
    if (item.bytes != nullptr && item.bytes->View() == bytes) return;
    if (item.bytes != nullptr) by_version_.erase(item.version);
    item = {kind, id, ++version_, std::make_shared<const ItemBytes>(std::move(bytes), kept)};
    by_version_[version_] = key;
  }
  const std::lock_guard lock(callback_mutex_);
  if (callback_) callback_();
}

uint64_t ItemStore::Version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

ItemStore::Batch ItemStore::Since(uint64_t version, size_t most_bytes) const {
  const std::lock_guard lock(mutex_);
  Batch batch;
  batch.version = version;
  size_t bytes = 0;
  for (auto it = by_version_.upper_bound(version); it != by_version_.end(); ++it) {
    const Item& item = items_.at(it->second);
    if (!batch.items.empty() && bytes + item.bytes->Size() > most_bytes) break;
    bytes += item.bytes->Size();
    batch.items.push_back(item);
    batch.version = item.version;
  }
  return batch;
}

void ItemStore::OnChange(std::function<void()> callback) {
  const std::lock_guard lock(callback_mutex_);
  callback_ = std::move(callback);
}

std::string EncodeBatch(const ItemStore::Batch& batch) {
  Bytes out;
  out.Text("LUM1");
  out.U32(static_cast<uint32_t>(batch.items.size()));
  out.U64(batch.version);
  for (const Item& item : batch.items) {
    out.U32(static_cast<uint32_t>(item.kind));
    out.U32(item.id);
    out.U32(static_cast<uint32_t>(item.bytes->Size()));
    out.Text(item.bytes->View());
    item.bytes->LetGo();
    out.Pad(4);
  }
  return out.Take();
}

}  // namespace lumen
