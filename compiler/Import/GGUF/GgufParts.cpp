// SPDX-License-Identifier: Apache-2.0
//
// Models that are split over files NAME-00001-of-00003.gguf …: the first one
// has the metadata, each has some of the tensors.

#include "compiler/Import/GGUF/GgufReader.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace llmc::gguf {

namespace {

constexpr const char *kNumberKey = "split.no", *kCountKey = "split.count",
                     *kTensorsKey = "split.tensors.count";
/// The names have five digits.
constexpr uint64_t kMostParts = 99999;

/// "-00002-of-00003.gguf".
std::string suffixOf(uint64_t number, uint64_t count) {
  std::string suffix;
  llvm::raw_string_ostream(suffix)
      << llvm::format("-%05u-of-%05u.gguf", static_cast<unsigned>(number + 1),
                      static_cast<unsigned>(count));
  return suffix;
}

llvm::Error fail(const GgufFile &file, const Twine &message) {
  return llvm::createStringError(file.path() + ": " + message);
}

} // namespace

llvm::Error GgufFile::checkPart(uint64_t number, uint64_t count) const {
  for (auto [key, wanted] :
       {std::pair(kNumberKey, number), std::pair(kCountKey, count)}) {
    auto found = getUnsigned(key);
    if (!found)
      return found.takeError();
    if (*found != wanted)
      return fail(*this, "metadata '" + Twine(key) + "' is " + Twine(*found) +
                             ", allowed in part " + Twine(number + 1) + " of " +
                             Twine(count) + " is " + Twine(wanted));
  }
  return llvm::Error::success();
}

llvm::Error GgufFile::addPart(std::unique_ptr<GgufFile> part) {
  auto index = static_cast<int64_t>(parts.size()) + 1;
  for (Tensor tensor : part->tensorList) {
    tensor.file = index;
    if (!tensorIndex.try_emplace(tensor.name, tensorList.size()).second)
      return fail(*part, "tensor '" + tensor.name +
                             "' is in an earlier part of the model too, "
                             "allowed is once");
    tensorList.push_back(std::move(tensor));
  }
  parts.push_back(std::move(part));
  return llvm::Error::success();
}

llvm::Error GgufFile::openParts() {
  auto count = findUnsigned(kCountKey);
  if (!count)
    return count.takeError();
  if (!*count || **count <= 1)
    return llvm::Error::success();
  if (**count > kMostParts)
    return fail(*this, "metadata '" + Twine(kCountKey) + "' is " +
                           Twine(**count) + ", allowed are up to " +
                           Twine(kMostParts));
  auto number = getUnsigned(kNumberKey);
  if (!number)
    return number.takeError();
  StringRef stem = path();
  if (!stem.consume_back(suffixOf(*number, **count)))
    return fail(*this, "is part " + Twine(*number + 1) + " of " +
                           Twine(**count) +
                           " of a model, whose name must end in '" +
                           suffixOf(*number, **count) + "'");
  if (*number != 0)
    return fail(*this, "is part " + Twine(*number + 1) + " of a model in " +
                           Twine(**count) + " files; the first one, " + stem +
                           suffixOf(0, **count) + ", stands for all");
  for (uint64_t next = 1; next < **count; ++next) {
    std::string partPath = (stem + suffixOf(next, **count)).str();
    auto part = openOne(partPath);
    if (!part)
      return llvm::createStringError(llvm::toString(part.takeError()) +
                                     " (part " + Twine(next + 1) + " of " +
                                     Twine(**count) + " of the model)");
    if (llvm::Error error = (*part)->checkPart(next, **count))
      return error;
    if (llvm::Error error = addPart(std::move(*part)))
      return error;
  }
  auto numTensors = getUnsigned(kTensorsKey);
  if (!numTensors)
    return numTensors.takeError();
  if (*numTensors != tensorList.size())
    return fail(*this, "metadata '" + Twine(kTensorsKey) + "' is " +
                           Twine(*numTensors) + ", but the model's " +
                           Twine(**count) + " files have " +
                           Twine(tensorList.size()) + " tensors");
  return llvm::Error::success();
}

} // namespace llmc::gguf
