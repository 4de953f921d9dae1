// SPDX-License-Identifier: Apache-2.0

#ifndef LLMC_DIALECTS_TARGET_TARGETOPS_TD
#define LLMC_DIALECTS_TARGET_TARGETOPS_TD

include "dialects/Target/TargetDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Target_FamilyEnum : I32EnumAttr<"Family", "GPU family, which names the strategy", [
    I32EnumAttrCase<"Generic", 0, "generic">, I32EnumAttrCase<"Adreno", 1, "adreno">,
    I32EnumAttrCase<"Bifrost", 2, "bifrost">, I32EnumAttrCase<"Valhall", 3, "valhall">,
    I32EnumAttrCase<"Cpu", 4, "cpu">, I32EnumAttrCase<"Nvidia", 5, "nvidia">]> {
  let cppNamespace = "::llmc::target";
  let genSpecializedAttr = 0;
}

// A list between brackets, which keeps the next parameter's name apart from its elements.
class Target_ListParameter<string arrayOf> : ArrayRefParameter<arrayOf> {
  let parser = "parseList<" # arrayOf # ">($_parser)";
  let printer = "printList($_printer, $_self)";
}

def Target_DeviceAttr : AttrDef<TargetDialect, "Device"> {
  let mnemonic = "device";
  let summary = "facts about one device that passes may use; built from a description file by codegen/Targets";
  let description = [{
    Registers are 32-bit registers per invocation. A subgroup size of 1 means that kernels may not depend on it.
    `max_unroll` is the most values of k in the body of a kernel's innermost loop. `features` holds `f16_storage`,
    `f16_arithmetic`, `i8_storage`, `i8_arithmetic`, `i16_arithmetic`, `int_dot`, `subgroup_arithmetic`,
    `subgroup_shuffle`; what is unknown is left out. `quirks` holds names from docs/targets.md, for instance
    `no_square_workgroups`, `no_workgroup_staging`, `clamp_tanh`. Attached to a module as `target.device`.
  }];
  let parameters = (ins
    StringRefParameter<"device name">:$name,
    EnumParameter<Target_FamilyEnum>:$family,
    "int64_t":$subgroup_size,
    "int64_t":$max_invocations,
    Target_ListParameter<"int64_t">:$max_workgroup_size,
    Target_ListParameter<"int64_t">:$max_workgroup_count,
    "int64_t":$workgroup_memory_bytes,
    "bool":$workgroup_memory_on_chip,
    "int64_t":$registers_full_occupancy,
    "int64_t":$registers_max,
    "int64_t":$compute_units,
    "int64_t":$buffer_alignment,
    "int64_t":$max_buffer_range,
    "int64_t":$max_allocation,
    "int64_t":$max_push_constant_bytes,
    "int64_t":$spirv_minor,
    "int64_t":$vulkan_minor,
    "int64_t":$max_unroll,
    Target_ListParameter<"int64_t">:$row_buckets,
    StringRefParameter<"element type of the KV cache: f32, f16 or i8">:$kv_type,
    Target_ListParameter<"::mlir::StringAttr">:$features,
    Target_ListParameter<"::mlir::StringAttr">:$quirks,
    StringRefParameter<"type of the activations that linears of many rows read: f32 or i8", "\"f32\"">:$prefill_activations,
    StringRefParameter<"type in which values lie between dispatches where it holds them: f32 or f16", "\"f32\"">:$activations,
    DefaultValuedParameter<"int64_t", "0", "largest range of a uniform buffer in bytes, 0 if none may be used">:$max_uniform_range,
    DefaultValuedParameter<"int64_t", "0", "most storage buffers of a kernel, 0 if unknown">:$max_storage_buffers);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// Name of the module attribute that holds the device.
    static ::llvm::StringRef getModuleAttrName() { return "target.device"; }
    bool hasFeature(::llvm::StringRef feature) const;
    bool hasQuirk(::llvm::StringRef quirk) const;
  }];
}

#endif // LLMC_DIALECTS_TARGET_TARGETOPS_TD
