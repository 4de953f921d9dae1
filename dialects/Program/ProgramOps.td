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
  let description = [{
    A module holds kernels and entries. An entry names ranges of buffers (slices) and lists dispatches and barriers. Until
    the planner has run, slices of the arena have no offset and there are no barriers; afterwards nothing is left for the
    runtime to decide.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

def Program_StorageEnum : I32EnumAttr<"Storage", "which buffer a slice lies in", [
    I32EnumAttrCase<"Arena", 0, "arena">,     // transient values of a step, placed by the planner
    I32EnumAttrCase<"Kept", 1, "kept">,       // lives between entries of a step (hidden states from forward to logits)
    I32EnumAttrCase<"State", 2, "state">,     // lives from step to step (KV cache)
    I32EnumAttrCase<"Weight", 3, "weight">,   // one plane of a packed weight
    I32EnumAttrCase<"Input", 4, "input">,     // written by the host before a step, or by the step before it
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
    `label` says for people what it computes; `config` is the lowering config it was built with.
    All bindings are storage buffers of descriptor set 0, numbered 0 to `bindings` - 1.

    Constraints:
    - (kernel_c1) `workgroup` is three sizes of at least 1.
    - (kernel_c2) `bindings` is at least 1.
    - (kernel_c3) `workgroup_memory` is not negative.
    - (kernel_c4) `spirv`, when present, begins with the magic number of SPIR-V (119734787).

    ```mlir
    program.kernel @add "adds two vectors" workgroup [64, 1, 1] bindings 3 workgroup_memory 0
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$label, DenseI64ArrayAttr:$workgroup, I64Attr:$num_bindings,
    I64Attr:$workgroup_memory_bytes, OptionalAttr<AnyAttr>:$config, OptionalAttr<DenseI32ArrayAttr>:$spirv);
  let assemblyFormat = [{
    $sym_name $label `workgroup` $workgroup `bindings` $num_bindings `workgroup_memory` $workgroup_memory_bytes
    (`config` $config^)? (`spirv` $spirv^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Program_EntryOp : Program_Op<"entry", [Symbol, NoTerminator, SingleBlock]> {
  let summary = "what one submission records: a function of the model for at most `rows` rows";
  let description = [{
    The body is executed in order. `arena` is the size of the arena that this entry needs; the planner sets it.

    Constraints:
    - (entry_c1) `rows` is at least 1.
    - (entry_c2) the body holds slices, dispatches and barriers only.
    - (entry_c3) every arena slice that has an offset ends within `arena`.

    ```mlir
    program.kernel @double "y = 2 x" workgroup [64, 1, 1] bindings 2 workgroup_memory 0
    program.entry @forward_r1 "forward" rows 1 arena 256 {
      %x = program.slice input "x" bytes 256 value tensor<?x64xf32>
      %y = program.slice arena bytes 256 offset 0
      %z = program.slice output "z" bytes 256 value tensor<?x64xf32>
      program.dispatch @double groups [1, 1, 1](%x, %y) access [1, 2]
      program.barrier
      program.dispatch @double groups [1, 1, 1](%y, %z) access [1, 2] "second"
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$function, I64Attr:$rows, OptionalAttr<I64Attr>:$arena_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name $function `rows` $rows (`arena` $arena_bytes^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Program_SliceOp : Program_Op<"slice", [Pure, HasParent<"EntryOp">]> {
  let summary = "a range of a buffer; the planner sets `offset`";
  let description = [{
    `symbol` names the weight or state, or the value kept, read in or put out (`hidden`, `tokens`, `logits`, …);
    slices of one storage and one symbol are the same memory in every entry. `plane` is the plane of a packed weight, which the
    serializer places; its `offset` counts from the plane's beginning and is there only when the slice is a part of the plane.
    `value` is the tensor that lies there: of shape [rows, d1, d2, …], a row is d1·d2·… elements. Rows of f32 lie a
    multiple of four elements apart, rows of i32 have no padding.

    Constraints:
    - (slice_c1) `bytes` is at least 1.
    - (slice_c2) a slice has a symbol exactly if its storage is neither `arena` nor `step`.
    - (slice_c3) only a slice of a weight has a plane other than 0, and it is not negative.
    - (slice_c4) `offset` is not negative and a multiple of 4.
    - (slice_c5) a slice of an input, an output or a kept value has a `value` of i32 or f32 elements, all its dimensions
      static but the first.

    ```mlir
    program.entry @example "forward" rows 8 {
      %w = program.slice weight "blk.0.attn_q.weight" plane 1 bytes 65536
      %h = program.slice kept "hidden" bytes 65536 value tensor<?x2048xf32>
      %t = program.slice arena bytes 1024 offset 256
    }
    ```
  }];
  let arguments = (ins EnumAttr<ProgramDialect, Program_StorageEnum, "storage">:$storage, OptionalAttr<StrAttr>:$symbol,
    DefaultValuedAttr<I64Attr, "0">:$plane, I64Attr:$bytes, OptionalAttr<I64Attr>:$offset, OptionalAttr<TypeAttr>:$value_type);
  let results = (outs Program_SliceType:$result);
  let assemblyFormat = "$storage ($symbol^)? (`plane` $plane^)? `bytes` $bytes (`offset` $offset^)? (`value` $value_type^)? attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Elements that count in a row of the value; 1 for a tensor of rank 0 or 1. Needs `value`.
    int64_t getRowElements();
    /// Distance between rows in bytes. Needs `value`.
    int64_t getRowBytes();
  }];
}

def Program_DispatchOp : Program_Op<"dispatch", [HasParent<"EntryOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one vkCmdDispatch; binding i is operand i";
  let description = [{
    `access` says for each binding what the kernel does with it: 1 read, 2 write, 3 both.

    Constraints:
    - (dispatch_c1) there are as many bindings as the kernel has.
    - (dispatch_c2) `access` has one of 1, 2, 3 for each binding.
    - (dispatch_c3) `groups` is three counts of at least 1.
    - (dispatch_c4) `kernel` names a `program.kernel`.
    - (dispatch_c5) weights are only read.
    - (dispatch_c6) inputs and the step words, which no barrier is planned for, are written by the last dispatch of an entry
      only: for the next step.

    ```mlir
    program.kernel @negate "y = -x" workgroup [64, 1, 1] bindings 2 workgroup_memory 0
    program.entry @example "forward" rows 1 {
      %x = program.slice arena bytes 256
      %y = program.slice arena bytes 256
      program.dispatch @negate groups [1, 1, 1](%x, %y) access [1, 2] "blk.0.negate"
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, DenseI64ArrayAttr:$groups, DenseI32ArrayAttr:$access,
    Variadic<Program_SliceType>:$bindings, OptionalAttr<StrAttr>:$label);
  let assemblyFormat = "$kernel `groups` $groups `(` $bindings `)` `access` $access ($label^)? attr-dict";
  let hasVerifier = 1;
}

def Program_BarrierOp : Program_Op<"barrier", [HasParent<"EntryOp">]> {
  let summary = "an execution and memory barrier between compute dispatches";
  let description = [{
    Everything written by the dispatches before it is visible to those after it.

    ```mlir
    program.entry @example "forward" rows 1 {
      program.barrier
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
}

#endif // LLMC_DIALECTS_PROGRAM_PROGRAMOPS_TD
