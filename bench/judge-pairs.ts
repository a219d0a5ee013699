/** @module P18: judging labelled handoffs, compared with writing the same ones as canonical JSON: reading both contexts once is the minimum for judging. */
import { readFileSync } from 'node:fs'
import { resolvePolicy } from '../schemas/resolve-policy.ts'
import { canonicalText } from '../src/domain/validator/report.ts'
import { type HandoffInput, validateHandoff } from '../src/domain/validator/validate.ts'
import { type Bench, type BenchGroup, directMs } from './bench.ts'
import type { BenchOptions } from './options.ts'
import { ratioRow } from './report.ts'
import { Samples } from './statistics.ts'

const SLICES = 8
const PAIRS = 'test/vectors/validator/judgement.jsonl'

type Pair = Pick<HandoffInput, 'before' | 'after'>

export const judgePairs: BenchGroup = { name: 'judging handoffs', ids: ['P18'], open }

async function open(options: BenchOptions): Promise<Bench> {
  const lines = readFileSync(PAIRS, 'utf8').trim().split('\n')
  const pairs = lines.map((line) => JSON.parse(line) as Pair)
  const samples = new Samples()
  const sliceMs = directMs(options) / SLICES
  perSecond(judged, pairs, sliceMs)
  perSecond(written, pairs, sliceMs)
  return {
    round: async () => {
      for (let i = 0; i < SLICES; i += 1) {
        samples.add('judged', perSecond(judged, pairs, sliceMs))
        samples.add('written', perSecond(written, pairs, sliceMs))
      }
    },
    rows: () => [
      ratioRow(samples, {
        id: 'P18',
        what: `judged ÷ written as canonical JSON, ${pairs.length} labelled handoffs`,
        unit: 'pairs/s',
        over: ['judged', 'written'],
        floor: 0.2,
        target: 0.4,
      }),
    ],
    [Symbol.asyncDispose]: async () => {},
  }
}

const policy = resolvePolicy()

const judged = ({ before, after }: Pair): number => validateHandoff({ before, after, policy }).findingsTotal

const written = ({ before, after }: Pair): number => canonicalText(before).length + canonicalText(after).length

let seen = 0

function perSecond(work: (pair: Pair) => number, pairs: readonly Pair[], milliseconds: number): number {
  const startedMs = performance.now()
  let count = 0
  while (performance.now() - startedMs < milliseconds) {
    for (const pair of pairs) seen += work(pair)
    count += pairs.length
  }
  if (seen === 0) throw new Error('nothing was found')
  return (count * 1000) / (performance.now() - startedMs)
}
