// Voice activity detection by sherpa-onnx. Usage: node vad.js MODEL SPEECH.wav; prints the segments found.
'use strict';
const sherpa = require('sherpa-onnx-node');
const [model, speech] = process.argv.slice(2);

const wave = sherpa.readWave(speech);
const vad = new sherpa.Vad({
  sileroVad: { model, threshold: 0.5, minSpeechDuration: 0.1, minSilenceDuration: 0.2, maxSpeechDuration: 20, windowSize: 512 },
  sampleRate: 16000, debug: 0, numThreads: 1,
}, 60);
const samples = new sherpa.LinearResampler(wave.sampleRate, 16000).resample(wave.samples, true);
for (let at = 0; at + 512 <= samples.length; at += 512) vad.acceptWaveform(samples.subarray(at, at + 512));
vad.flush();
for (; !vad.isEmpty(); vad.pop()) {
  const { start, samples: found } = vad.front();
  console.log(`segment ${start} ${found.length}`);
}
