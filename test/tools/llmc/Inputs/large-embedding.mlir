// A table of 151936 x 1024 8-bit codes: 155582464 bytes, more than 128 MiB.
module attributes {graph.files = ["absent.bin"]} {
  graph.weight @token_embd.weight : tensor<151936x1024x!graph.encoded<q8_0>>
    from [#graph.source<file = 0, offset = 0, rows = 151936>]
  func.func @forward(%tokens: tensor<?xi32> {graph.name = "tokens"})
      -> (tensor<?x1024xf32> {graph.name = "hidden"}) {
    %0 = graph.load_weight @token_embd.weight : tensor<151936x1024x!graph.encoded<q8_0>>
    %1 = graph.dequantize %0 : tensor<151936x1024x!graph.encoded<q8_0>> -> tensor<151936x1024xf32>
    %2 = graph.embedding %tokens, %1 : tensor<?xi32>, tensor<151936x1024xf32> -> tensor<?x1024xf32>
    return %2 : tensor<?x1024xf32>
  }
}
