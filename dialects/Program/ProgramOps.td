// SPDX-License-Identifier: Apache-2.0

#ifndef LLMC_DIALECTS_PROGRAM_PROGRAMOPS_TD
#define LLMC_DIALECTS_PROGRAM_PROGRAMOPS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def ProgramDialect : Dialect {
  let name = "program";
  let cppNamespace = "::llmc::program";
  let summary = "What the runtime executes, one op per act of the runtime.";
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

def Program_StorageEnum : I32EnumAttr<"Storage", "which buffer a slice lies in", [
    I32EnumAttrCase<"Arena", 0, "arena">,     // transient values of a step, placed by the planner
    I32EnumAttrCase<"Kept", 1, "kept">,       // lives between entries of a step (hidden states from forward to logits)
    I32EnumAttrCase<"State", 2, "state">,     // lives from step to step (KV cache)
    I32EnumAttrCase<"Weight", 3, "weight">,   // one plane of a packed weight
    I32EnumAttrCase<"Input", 4, "input">,     // written by the host before a step
    I32EnumAttrCase<"Output", 5, "output">,   // read by the host after a step
    I32EnumAttrCase<"Step", 6, "step">]> {    // the step buffer: position, rows, first row
  let cppNamespace = "::llmc::program";
  let genSpecializedAttr = 0;
}

def Program_AccessEnum : I32EnumAttr<"Access", "what a dispatch does with a binding", [
    I32EnumAttrCase<"Read", 1, "read">, I32EnumAttrCase<"Write", 2, "write">, I32EnumAttrCase<"ReadWrite", 3, "read_write">]> {
  let cppNamespace = "::llmc::program";
  let genSpecializedAttr = 0;
}

class Program_Type<string name, string typeMnemonic> : TypeDef<ProgramDialect, name> { let mnemonic = typeMnemonic; }
def Program_SliceType : Program_Type<"Slice", "slice"> { let summary = "a range of a buffer"; }

class Program_Op<string mnemonic, list<Trait> traits = []> : Op<ProgramDialect, mnemonic, traits>;

def Program_KernelOp : Program_Op<"kernel", [Symbol]> {
  let summary = "one compute pipeline: a SPIR-V module with one entry point named `main`";
  let description = [{
    Before SPIR-V is made, a `gpu.module` of the same name plus `_gpu` stands beside it; afterwards `spirv` holds the words.
    `label` says for people what it computes; `config` is the lowering config it was built with; `region_key` identifies equal kernels.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$label, DenseI64ArrayAttr:$workgroup, I64Attr:$num_bindings,
    I64Attr:$workgroup_memory_bytes, OptionalAttr<AnyAttr>:$config, OptionalAttr<DenseI32ArrayAttr>:$spirv);
  let assemblyFormat = [{
    $sym_name $label `workgroup` $workgroup `bindings` $num_bindings `workgroup_memory` $workgroup_memory_bytes
    (`config` $config^)? (`spirv` $spirv^)? attr-dict
  }];
}

def Program_EntryOp : Program_Op<"entry", [Symbol, NoTerminator, SingleBlock]> {
  let summary = "what one submission records: a function of the model for at most `rows` rows";
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$function, I64Attr:$rows, OptionalAttr<I64Attr>:$arena_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name $function `rows` $rows (`arena` $arena_bytes^)? attr-dict-with-keyword $body";
}

def Program_SliceOp : Program_Op<"slice", [Pure]> {
  let summary = "a range of a buffer; the planner sets `offset` (arena, kept, state), the serializer places weights";
  let description = [{
    `symbol` names the weight or state, or the value kept, read in or put out (`hidden`, `tokens`, `logits`, …).
    `plane` is the plane of a packed weight. `row_bytes`, `rows`: for input and output slices, how rows lie.
  }];
  let arguments = (ins EnumAttr<ProgramDialect, Program_StorageEnum, "storage">:$storage, OptionalAttr<StrAttr>:$symbol,
    DefaultValuedAttr<I64Attr, "0">:$plane, I64Attr:$bytes, OptionalAttr<I64Attr>:$offset, OptionalAttr<TypeAttr>:$value_type);
  let results = (outs Program_SliceType:$result);
  let assemblyFormat = "$storage ($symbol^)? (`plane` $plane^)? `bytes` $bytes (`offset` $offset^)? (`value` $value_type^)? attr-dict";
  let builders = [];
}

def Program_DispatchOp : Program_Op<"dispatch"> {
  let summary = "one vkCmdDispatch; binding i is operand i";
  let arguments = (ins FlatSymbolRefAttr:$kernel, DenseI64ArrayAttr:$groups, DenseI32ArrayAttr:$access,
    Variadic<Program_SliceType>:$bindings, OptionalAttr<StrAttr>:$label);
  let assemblyFormat = "$kernel `groups` $groups `(` $bindings `)` `access` $access ($label^)? attr-dict";
}

def Program_BarrierOp : Program_Op<"barrier"> {
  let summary = "an execution and memory barrier between compute dispatches";
  let assemblyFormat = "attr-dict";
}

#endif // LLMC_DIALECTS_PROGRAM_PROGRAMOPS_TD
