// SPDX-License-Identifier: Apache-2.0
//
// node run_onnxruntime.js CASE.onnx… : reads the inputs in CASE.json, runs the model with onnxruntime on the CPU
// (npm package onnxruntime-node, not optimised) and adds the outputs to CASE.json.

const fs = require("fs");
const ort = require("onnxruntime-node");

const makers = {
  float32: (data) => Float32Array.from(data),
  int64: (data) => BigInt64Array.from(data.map((number) => BigInt(number))),
};

async function run(model) {
  const path = model.replace(/\.onnx$/, ".json");
  const test = JSON.parse(fs.readFileSync(path));
  const reference = model.replace(/\.onnx$/, ".reference");
  const session = await ort.InferenceSession.create(fs.existsSync(reference) ? reference : model, { graphOptimizationLevel: "disabled", logSeverityLevel: 3 });
  const feeds = {};
  for (const [name, input] of Object.entries(test.inputs)) {
    feeds[name] = new ort.Tensor(input.type, makers[input.type](input.data), input.dims);
  }
  const outputs = await session.run(feeds);
  test.outputs = {};
  for (const [name, output] of Object.entries(outputs)) {
    test.outputs[name] = { dims: output.dims, data: Array.from(output.data, (number) => Number(number.toPrecision(9))) };
  }
  fs.writeFileSync(path, JSON.stringify(test) + "\n");
}

(async () => {
  for (const model of process.argv.slice(2)) {
    try {
      await run(model);
    } catch (error) {
      console.error(`${model}: ${error.message}`);
      process.exitCode = 1;
    }
  }
})();
