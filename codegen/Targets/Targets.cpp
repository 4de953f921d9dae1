// SPDX-License-Identifier: Apache-2.0
//
// Finding, parsing and checking device descriptions. Errors carry the line and
// column of the text.

#include "codegen/Targets/Targets.h"

#include "codegen/Targets/DescriptionChecker.h"
#include "codegen/Targets/EmbeddedDescriptions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

namespace llmc::targets {

using description::Target;
using google::protobuf::FieldDescriptor;
using google::protobuf::TextFormat;

namespace {

/// Errors of one description, in the words a compiler uses.
class ErrorLog : public google::protobuf::io::ErrorCollector {
public:
  ErrorLog(llvm::StringRef description, llvm::StringRef fileName)
      : fileName(fileName) {
    description.split(lines, '\n');
  }

  /// `line` and `column` count from 0; a line of -1 stands for the whole text.
  void AddError(int line, int column, const std::string &message) override {
    line = std::max(line, 0);
    column = std::max(column, 0);
    moveToEnumValue(line, column, message);
    if (!errors.empty())
      errors += '\n';
    errors += llvm::formatv("{0}:{1}:{2}: error: {3}", fileName, line + 1,
                            column + 1, message);
  }

  bool isEmpty() const { return errors.empty(); }
  const std::string &getErrors() const { return errors; }

private:
  /// Protobuf places an unknown enumeration value at the token after it; this
  /// goes back to the value itself.
  void moveToEnumValue(int &line, int &column, llvm::StringRef message) const {
    if (!message.consume_front("Unknown enumeration value of \""))
      return;
    llvm::StringRef value = message.take_until([](char c) { return c == '"'; });
    for (int i = std::min<int>(line, lines.size() - 1); i >= 0; --i) {
      llvm::StringRef before =
          i == line ? lines[i].take_front(column) : lines[i];
      size_t at = before.rfind(value);
      if (at == llvm::StringRef::npos)
        continue;
      line = i;
      column = static_cast<int>(at);
      return;
    }
  }

  llvm::StringRef fileName;
  llvm::SmallVector<llvm::StringRef> lines;
  std::string errors;
};

/// Where the field of a finding begins in the text. A missing field is placed
/// at the nearest message around it.
TextFormat::ParseLocation locate(const TextFormat::ParseInfoTree &root,
                                 const Finding &finding) {
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(finding.path).split(names, '.');
  const TextFormat::ParseInfoTree *tree = &root;
  const google::protobuf::Descriptor *message = Target::descriptor();
  TextFormat::ParseLocation location;
  for (llvm::StringRef name : names) {
    const FieldDescriptor *field = message->FindFieldByName(name.str());
    int index = field->is_repeated() ? finding.index : -1;
    TextFormat::ParseLocation inner = tree->GetLocation(field, index);
    if (inner.line < 0 && index > 0)
      inner = tree->GetLocation(field, 0);
    if (inner.line < 0)
      return location;
    location = inner;
    message = field->message_type();
    tree = tree->GetTreeForNested(field, index);
    if (!message || !tree)
      return location;
  }
  return location;
}

llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

bool isPath(llvm::StringRef nameOrPath) {
  return nameOrPath.contains('/') || nameOrPath.ends_with(".textproto");
}

} // namespace

std::vector<llvm::StringRef> getTargetNames() {
  std::vector<llvm::StringRef> names;
  for (const EmbeddedFile &file : getEmbeddedDescriptions())
    names.push_back(file.name);
  llvm::sort(names);
  return names;
}

llvm::Expected<Target> parseTarget(llvm::StringRef text,
                                   llvm::StringRef fileName) {
  ErrorLog log(text, fileName);
  TextFormat::ParseInfoTree locations;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&log);
  parser.WriteLocationsTo(&locations);
  google::protobuf::io::ArrayInputStream stream(text.data(), text.size());
  Target description;
  if (!parser.Parse(&stream, &description) && log.isEmpty())
    log.AddError(0, 0, "cannot be parsed");
  if (!log.isEmpty())
    return makeError(log.getErrors());
  for (const Finding &finding : checkDescription(description)) {
    TextFormat::ParseLocation at = locate(locations, finding);
    log.AddError(at.line, at.column, finding.path + " " + finding.claim);
  }
  if (!log.isEmpty())
    return makeError(log.getErrors());
  return description;
}

llvm::Expected<Target> loadTarget(llvm::StringRef nameOrPath) {
  if (isPath(nameOrPath)) {
    auto buffer = llvm::MemoryBuffer::getFile(nameOrPath, /*IsText=*/true);
    if (!buffer)
      return makeError("cannot read the device description '" + nameOrPath +
                       "': " + buffer.getError().message());
    return parseTarget((*buffer)->getBuffer(), nameOrPath);
  }
  for (const EmbeddedFile &file : getEmbeddedDescriptions())
    if (file.name == nameOrPath)
      return parseTarget(file.text, (file.name + ".textproto").str());
  return makeError("there is no target '" + nameOrPath +
                   "'; the targets are: " + llvm::join(getTargetNames(), ", ") +
                   "; a path of a description must hold a '/' or end in "
                   "'.textproto'");
}

} // namespace llmc::targets
