/** @module P6: the strict canonicaliser compared with JSON.stringify, on the same envelopes. */
import type { JsonObject } from '../schemas/json.ts'
import { canonicalJson } from '../src/signing/canonical-json.ts'
import { type Bench, type BenchGroup, directMs } from './bench.ts'
import { envelopeOf } from './envelopes.ts'
import type { BenchOptions } from './options.ts'
import { ratioRow } from './report.ts'
import { Samples } from './statistics.ts'

const ENVELOPES = 64
/** Alternating slices, so that pauses of the garbage collector affect both sides. */
const SLICES = 8

export const canonical: BenchGroup = { name: 'canonical JSON', ids: ['P6'], open }

async function open(options: BenchOptions): Promise<Bench> {
  // Parsed like real input: object literals would have better shapes than parsed objects.
  const texts = Array.from({ length: ENVELOPES }, (_, n) => JSON.stringify(envelopeOf(n)))
  const envelopes = texts.map((text) => JSON.parse(text) as JsonObject)
  const samples = new Samples()
  const sliceMs = directMs(options) / SLICES
  perSecond(JSON.stringify, envelopes, sliceMs)
  perSecond(canonicalJson, envelopes, sliceMs)
  return {
    round: async () => {
      for (let i = 0; i < SLICES; i += 1) {
        samples.add('canonical', perSecond(canonicalJson, envelopes, sliceMs))
        samples.add('stringify', perSecond(JSON.stringify, envelopes, sliceMs))
      }
    },
    rows: () => [
      ratioRow(samples, {
        id: 'P6',
        what: `strict canonicaliser ÷ JSON.stringify, an envelope of ${texts[0]?.length} bytes`,
        unit: 'envelopes/s',
        over: ['canonical', 'stringify'],
        floor: 0.4,
        target: 0.65,
      }),
    ],
    [Symbol.asyncDispose]: async () => {},
  }
}

let written = 0

function perSecond(
  write: (value: JsonObject) => string,
  envelopes: readonly JsonObject[],
  milliseconds: number,
): number {
  const startedMs = performance.now()
  let count = 0
  while (performance.now() - startedMs < milliseconds) {
    // Reading a character flattens the string, as hashing would: concatenation without it would be half of the work.
    for (const envelope of envelopes) written += write(envelope).charCodeAt(0)
    count += envelopes.length
  }
  if (written === 0) throw new Error('nothing was written')
  return (count * 1000) / (performance.now() - startedMs)
}
