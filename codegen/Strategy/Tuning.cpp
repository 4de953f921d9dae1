// SPDX-License-Identifier: Apache-2.0
//
// Entries are checked for what makes no sense on any device; whether a config
// fits a region is asked where the region is.

#include "codegen/Strategy/Tuning.h"

#include "codegen/Strategy/EmbeddedTunings.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <algorithm>

namespace llmc::codegen {

namespace {

class ErrorLog : public google::protobuf::io::ErrorCollector {
public:
  explicit ErrorLog(llvm::StringRef fileName) : fileName(fileName) {}

  /// `line` and `column` count from 0.
  void AddError(int line, int column, const std::string &message) override {
    add(llvm::formatv("{0}:{1}:{2}: error: {3}", fileName,
                      std::max(line, 0) + 1, std::max(column, 0) + 1, message));
  }
  void addEntry(int index, const llvm::Twine &message) {
    add((fileName + ": entry " + llvm::Twine(index + 1) + ": " + message)
            .str());
  }
  void add(const std::string &line) {
    errors += (errors.empty() ? "" : "\n") + line;
  }
  const std::string &getErrors() const { return errors; }

private:
  llvm::StringRef fileName;
  std::string errors;
};

/// What the tile of an entry of some kind is.
struct KindOfEntry {
  llvm::StringLiteral name;
  int tileSizes;
  bool mayEndInZero;
  const char *tile;
};

constexpr KindOfEntry kKinds[] = {
    {"gemv", 3, false, "rows, columns and k per step, of at least 1"},
    {"gemv_matrix", 4, true,
     "rows, columns, k of a chunk, of at least 1, and workgroups that go over "
     "all tiles, or 0"},
    {"gemm", 3, false, "rows, columns and k per step, of at least 1"},
    {"gemm_matrix", 6, false,
     "rows, columns, k per step, rows and columns of a subgroup and buffers, "
     "of at least 1"}};

/// What is wrong with an entry in itself, or nothing.
std::string checkEntry(const tuning::Entry &entry) {
  const tuning::Config &config = entry.config();
  auto isEmpty = [](int64_t value) { return value == 0; };
  if (entry.target().empty())
    return "target is required";
  if (entry.format().empty())
    return "format is required, for instance q4_0";
  if (entry.n() == 0 || entry.k() == 0 || entry.rows() == 0)
    return "n, k and rows are required";
  if (entry.linears() != 1 && entry.linears() != 2)
    return "linears is " + std::to_string(entry.linears()) +
           ", allowed are 1 and 2";
  if (entry.activations() != "f32" && entry.activations() != "i8")
    return "activations is '" + entry.activations() +
           "', allowed are f32 and i8";
  const KindOfEntry *kind =
      llvm::find_if(kKinds, [&](const KindOfEntry &known) {
        return known.name == config.kind();
      });
  if (kind == std::end(kKinds))
    return "config.kind is '" + config.kind() +
           "', allowed are gemv, gemv_matrix, gemm and gemm_matrix";
  if (config.workgroup_size() != 3 || llvm::any_of(config.workgroup(), isEmpty))
    return "config.workgroup must be three sizes of at least 1";
  auto sizes = llvm::make_range(config.tile().begin(), config.tile().end());
  if (config.tile_size() != kind->tileSizes ||
      llvm::any_of(llvm::drop_end(sizes, kind->mayEndInZero ? 1 : 0), isEmpty))
    return std::string("config.tile must be ") + kind->tile;
  return "";
}

llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

template <typename Values>
llvm::SmallVector<int64_t> toIntegers(const Values &values) {
  return llvm::SmallVector<int64_t>(values.begin(), values.end());
}

} // namespace

llvm::Expected<tuning::Tuning> parseTuning(llvm::StringRef text,
                                           llvm::StringRef fileName) {
  ErrorLog log(fileName);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&log);
  google::protobuf::io::ArrayInputStream stream(text.data(),
                                                static_cast<int>(text.size()));
  tuning::Tuning tuning;
  if (!parser.Parse(&stream, &tuning)) {
    if (log.getErrors().empty())
      log.AddError(0, 0, "cannot be parsed");
    return makeError(log.getErrors());
  }
  llvm::StringSet<> keys;
  for (int i = 0; i < tuning.entries_size(); ++i) {
    const tuning::Entry &entry = tuning.entries(i);
    std::string problem = checkEntry(entry);
    if (problem.empty() &&
        !keys.insert(entry.target() + " " + tuningKey(entry)).second)
      problem = "is a second one for '" + tuningKey(entry) + "' on target '" +
                entry.target() + "'";
    if (!problem.empty())
      log.addEntry(i, problem);
  }
  if (!log.getErrors().empty())
    return makeError(log.getErrors());
  return tuning;
}

llvm::Expected<tuning::Tuning> loadTuning(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return makeError("cannot read the tuning file '" + path +
                     "': " + buffer.getError().message());
  return parseTuning((*buffer)->getBuffer(), path);
}

tuning::Tuning getTuningDefaults(llvm::StringRef target) {
  for (const EmbeddedFile &file : getEmbeddedTunings())
    if (file.name == target)
      // A test parses all of them.
      return llvm::cantFail(parseTuning(file.text, file.name));
  return {};
}

std::string tuningKey(const tuning::Entry &entry) {
  return llvm::formatv("{0} {1}x{2} x{3}{4} rows {5} {6}", entry.format(),
                       entry.n(), entry.k(), entry.linears(),
                       entry.norm() ? " norm" : "", entry.rows(),
                       entry.activations());
}

mlir::DictionaryAttr toTuningAttr(const tuning::Tuning &tuning,
                                  llvm::StringRef target,
                                  mlir::MLIRContext *context) {
  context->loadDialect<graph::GraphDialect>();
  mlir::NamedAttrList entries;
  for (const tuning::Entry &entry : tuning.entries()) {
    if (entry.target() != target)
      continue;
    const tuning::Config &config = entry.config();
    entries.set(tuningKey(entry),
                graph::LoweringConfigAttr::get(
                    context, mlir::StringAttr::get(context, config.kind()),
                    toIntegers(config.workgroup()), toIntegers(config.tile()),
                    std::max<int64_t>(config.splits(), 1), /*accumulators=*/0,
                    /*registers=*/0));
  }
  return entries.getDictionary(context);
}

} // namespace llmc::codegen
