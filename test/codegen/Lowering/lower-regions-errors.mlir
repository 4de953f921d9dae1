// RUN: llmc-opt %s --split-input-file --verify-diagnostics --llmc-lower-regions

// expected-error @+1 {{has no target.device to lower for}}
module {
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  // expected-error @+1 {{has a scalar argument 'temperature'; a step has only position and first_row}}
  func.func @unknown_scalar(%t: tensor<i32> {graph.name = "temperature"}) {
    return
  }
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  // expected-error @+1 {{returns result 0, which has no graph.name or no region computes}}
  func.func @argument_returned(%x: tensor<?x4xf32> {graph.name = "x"}) -> (tensor<?x4xf32> {graph.name = "y"}) {
    return %x : tensor<?x4xf32>
  }
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  func.func @op_outside(%x: tensor<?x4xf32> {graph.name = "x"}) {
    // expected-error @+1 {{stands outside of a region}}
    %0 = graph.silu %x : tensor<?x4xf32>
    return
  }
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  func.func @slice_of_three_columns(%x: tensor<?x8xf32> {graph.name = "x"}) {
    // expected-error @+1 {{is no range of columns at a multiple of four}}
    %0 = graph.slice %x dim 1 offset 0 size 3 : tensor<?x8xf32> -> tensor<?x3xf32>
    return
  }
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  func.func @no_config(%x: tensor<?x4xf32> {graph.name = "x"}) -> (tensor<?x4xf32> {graph.name = "y"}) {
    // expected-error @+1 {{has no lowering_config}}
    %y = graph.region (%a = %x : tensor<?x4xf32>) -> (tensor<?x4xf32>) {
      %0 = graph.silu %a : tensor<?x4xf32>
      graph.yield %0 : tensor<?x4xf32>
    }
    return %y : tensor<?x4xf32>
  }
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  func.func @unknown_kind(%x: tensor<?x4xf32> {graph.name = "x"}) -> (tensor<?x4xf32> {graph.name = "y"}) {
    // expected-error @+1 {{has a lowering_config of unknown kind "fft"}}
    %y = graph.region (%a = %x : tensor<?x4xf32>) -> (tensor<?x4xf32>)
        attributes {lowering_config = #graph.lowering_config<"fft", workgroup = [64, 1, 1], tile = [1]>} {
      %0 = graph.silu %a : tensor<?x4xf32>
      graph.yield %0 : tensor<?x4xf32>
    }
    return %y : tensor<?x4xf32>
  }
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  graph.weight @w : tensor<64x64x!graph.encoded<f16>> from [#graph.source<file = 0, offset = 0, rows = 64>]
  graph.weight @g : tensor<64x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 64>]
  func.func @norm_in_gemm(%x: tensor<?x64xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"}) {
    %w = graph.load_weight @w : tensor<64x64x!graph.encoded<f16>>
    %g = graph.load_weight @g : tensor<64x!graph.encoded<f32>>
    // expected-error @+1 {{of kind gemm has a norm of its input, which only gemv computes}}
    %y = graph.region (%a = %x : tensor<?x64xf32>, %b = %w : tensor<64x64x!graph.encoded<f16>>,
                       %c = %g : tensor<64x!graph.encoded<f32>>) -> (tensor<?x64xf32>)
        attributes {lowering_config = #graph.lowering_config<"gemm", workgroup = [16, 4, 1], tile = [4, 4, 8]>} {
      %gain = graph.dequantize %c : tensor<64x!graph.encoded<f32>> -> tensor<64xf32>
      %n = graph.rms_norm %a, %gain epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
      %0 = graph.quantized_linear %n, %b : tensor<?x64xf32>, tensor<64x64x!graph.encoded<f16>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [2, 1, 1], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  graph.weight @w : tensor<64x64x!graph.encoded<f16>> from [#graph.source<file = 0, offset = 0, rows = 64>]
  func.func @too_many_workgroups(%x: tensor<?x64xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"}) {
    %w = graph.load_weight @w : tensor<64x64x!graph.encoded<f16>>
    // expected-error @+1 {{kernel 'gemv_f16_64x64_rows_1' needs 4 workgroups in one dimension; device 'test' allows 2}}
    %y = graph.region (%a = %x : tensor<?x64xf32>, %b = %w : tensor<64x64x!graph.encoded<f16>>) -> (tensor<?x64xf32>)
        attributes {lowering_config = #graph.lowering_config<"gemv", workgroup = [16, 1, 1], tile = [1, 4, 16]>} {
      %0 = graph.quantized_linear %a, %b : tensor<?x64xf32>, tensor<64x64x!graph.encoded<f16>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  graph.weight @w : tensor<64x64x!graph.encoded<f16>> from [#graph.source<file = 0, offset = 0, rows = 64>]
  func.func @too_many_invocations(%x: tensor<?x64xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"}) {
    %w = graph.load_weight @w : tensor<64x64x!graph.encoded<f16>>
    // expected-error @+1 {{kernel 'gemv_f16_64x64_rows_1' has workgroups of 512 invocations; device 'test' allows 256}}
    %y = graph.region (%a = %x : tensor<?x64xf32>, %b = %w : tensor<64x64x!graph.encoded<f16>>) -> (tensor<?x64xf32>)
        attributes {lowering_config = #graph.lowering_config<"gemv", workgroup = [512, 1, 1], tile = [1, 4, 16]>} {
      %0 = graph.quantized_linear %a, %b : tensor<?x64xf32>, tensor<64x64x!graph.encoded<f16>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  graph.weight @w : tensor<64x64x!graph.encoded<f16>> from [#graph.source<file = 0, offset = 0, rows = 64>]
  func.func @too_much_workgroup_memory(%x: tensor<?x64xf32> {graph.name = "x"})
      -> (tensor<?x64xf32> {graph.name = "y"}) attributes {graph.rows = 8 : i64} {
    %w = graph.load_weight @w : tensor<64x64x!graph.encoded<f16>>
    // expected-error @+1 {{kernel 'gemv_f16_64x64_rows_8' takes 32768 bytes of workgroup memory; device 'test' has 16384}}
    %y = graph.region (%a = %x : tensor<?x64xf32>, %b = %w : tensor<64x64x!graph.encoded<f16>>) -> (tensor<?x64xf32>)
        attributes {lowering_config = #graph.lowering_config<"gemv", workgroup = [256, 1, 1], tile = [8, 4, 16]>} {
      %0 = graph.quantized_linear %a, %b : tensor<?x64xf32>, tensor<64x64x!graph.encoded<f16>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  graph.weight @w : tensor<64x64x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 64>]
  func.func @part_of_a_group(%x: tensor<?x64xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"}) {
    %w = graph.load_weight @w : tensor<64x64x!graph.encoded<q8_0>>
    // expected-error @+1 {{of kind gemv takes 2 of 64 columns at once, where 32 belong together}}
    %y = graph.region (%a = %x : tensor<?x64xf32>, %b = %w : tensor<64x64x!graph.encoded<q8_0>>) -> (tensor<?x64xf32>)
        attributes {lowering_config = #graph.lowering_config<"gemv", workgroup = [16, 1, 1], tile = [1, 4, 2]>} {
      %0 = graph.quantized_linear %a, %b : tensor<?x64xf32>, tensor<64x64x!graph.encoded<q8_0>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  graph.weight @w : tensor<64x64x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 64>]
  func.func @dealt_without_subgroups(%x: tensor<?x64xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"}) {
    %w = graph.load_weight @w : tensor<64x64x!graph.encoded<q8_0>>
    // expected-error @+1 {{of kind gemv deals a tile to 2 workgroups whose 8 shares have 32 columns; it deals one tile of one expert to 1, 2 or 4 that add up by subgroups, and takes parts of groups of input that is not staged}}
    %y = graph.region (%a = %x : tensor<?x64xf32>, %b = %w : tensor<64x64x!graph.encoded<q8_0>>) -> (tensor<?x64xf32>)
        attributes {lowering_config = #graph.lowering_config<"gemv", workgroup = [16, 1, 1], tile = [1, 4, 32], splits = 2>} {
      %0 = graph.quantized_linear %a, %b : tensor<?x64xf32>, tensor<64x64x!graph.encoded<q8_0>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  graph.weight @w : tensor<64x64x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 64>]
  func.func @tiles_in_turn_without_subgroups(%x: tensor<?x64xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"}) {
    %w = graph.load_weight @w : tensor<64x64x!graph.encoded<q8_0>>
    // expected-error @+1 {{of kind gemv has 2 workgroups for all tiles; they take one row that is not staged and add up by subgroups, and the 4 shares must be all 64 columns}}
    %y = graph.region (%a = %x : tensor<?x64xf32>, %b = %w : tensor<64x64x!graph.encoded<q8_0>>) -> (tensor<?x64xf32>)
        attributes {lowering_config = #graph.lowering_config<"gemv", workgroup = [16, 1, 1], tile = [1, 4, 32, 0, 2]>} {
      %0 = graph.quantized_linear %a, %b : tensor<?x64xf32>, tensor<64x64x!graph.encoded<q8_0>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  graph.weight @w : tensor<64x64x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 64>]
  func.func @too_wide(%x: tensor<?x64xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"}) {
    %w = graph.load_weight @w : tensor<64x64x!graph.encoded<q8_0>>
    // expected-error @+1 {{of kind gemv has a tile of 12 columns, neither four nor four for each linear or for some tiles of one, a power of two}}
    %y = graph.region (%a = %x : tensor<?x64xf32>, %b = %w : tensor<64x64x!graph.encoded<q8_0>>) -> (tensor<?x64xf32>)
        attributes {lowering_config = #graph.lowering_config<"gemv", workgroup = [16, 1, 1], tile = [1, 12, 32]>} {
      %0 = graph.quantized_linear %a, %b : tensor<?x64xf32>, tensor<64x64x!graph.encoded<q8_0>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  graph.weight @w : tensor<64x64x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 64>]
  func.func @half_of_eight_bits(%x: tensor<?x64xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"}) {
    %w = graph.load_weight @w : tensor<64x64x!graph.encoded<q8_0>>
    // expected-error @+1 {{of kind gemv has f16 arithmetic for q8_0 and 64 staged columns; it takes codes of 4 to 6 bits and staged input}}
    %y = graph.region (%a = %x : tensor<?x64xf32>, %b = %w : tensor<64x64x!graph.encoded<q8_0>>) -> (tensor<?x64xf32>)
        attributes {lowering_config = #graph.lowering_config<"gemv", workgroup = [16, 1, 1], tile = [1, 4, 32, 64], arithmetic = f16>} {
      %0 = graph.quantized_linear %a, %b : tensor<?x64xf32>, tensor<64x64x!graph.encoded<q8_0>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  graph.weight @w : tensor<64x64x!graph.encoded<q4_0>> from [#graph.source<file = 0, offset = 0, rows = 64>]
  func.func @half_of_a_buffer(%x: tensor<?x64xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"}) {
    %w = graph.load_weight @w : tensor<64x64x!graph.encoded<q4_0>>
    // expected-error @+1 {{of kind gemv has f16 arithmetic for q4_0 and 0 staged columns; it takes codes of 4 to 6 bits and staged input}}
    %y = graph.region (%a = %x : tensor<?x64xf32>, %b = %w : tensor<64x64x!graph.encoded<q4_0>>) -> (tensor<?x64xf32>)
        attributes {lowering_config = #graph.lowering_config<"gemv", workgroup = [16, 1, 1], tile = [1, 4, 32], arithmetic = f16>} {
      %0 = graph.quantized_linear %a, %b : tensor<?x64xf32>, tensor<64x64x!graph.encoded<q4_0>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  graph.weight @w : tensor<64x64x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 64>]
  func.func @stages_rows(%x: tensor<?x64xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"}) {
    %w = graph.load_weight @w : tensor<64x64x!graph.encoded<q8_0>>
    // expected-error @+1 {{of kind gemv stages 64 of 64 columns for 2 rows and 1 linears at once; it stages one row of one linear, all columns or a power of two from 256 and the 128 that its lanes take at once}}
    %y = graph.region (%a = %x : tensor<?x64xf32>, %b = %w : tensor<64x64x!graph.encoded<q8_0>>) -> (tensor<?x64xf32>)
        attributes {lowering_config = #graph.lowering_config<"gemv", workgroup = [16, 1, 1], tile = [2, 4, 32, 64]>} {
      %0 = graph.quantized_linear %a, %b : tensor<?x64xf32>, tensor<64x64x!graph.encoded<q8_0>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  graph.weight @w : tensor<64x64x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 64>]
  func.func @stages_too_little(%x: tensor<?x64xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"}) {
    %w = graph.load_weight @w : tensor<64x64x!graph.encoded<q8_0>>
    // expected-error @+1 {{of kind gemv stages 32 of 64 columns for 1 rows and 1 linears at once; it stages one row of one linear, all columns or a power of two from 256 and the 128 that its lanes take at once}}
    %y = graph.region (%a = %x : tensor<?x64xf32>, %b = %w : tensor<64x64x!graph.encoded<q8_0>>) -> (tensor<?x64xf32>)
        attributes {lowering_config = #graph.lowering_config<"gemv", workgroup = [16, 1, 1], tile = [1, 4, 32, 32]>} {
      %0 = graph.quantized_linear %a, %b : tensor<?x64xf32>, tensor<64x64x!graph.encoded<q8_0>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}
