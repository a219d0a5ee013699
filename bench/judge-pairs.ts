/** @module P18: handoffs judged by rule set 2 over those judged by rule set 1, on the labelled pairs. */
import { readFileSync } from 'node:fs'
import type { Policy } from '../schemas/policy.ts'
import { resolvePolicy } from '../schemas/resolve-policy.ts'
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
  const [now, first] = [judgeBy('default'), judgeBy({ rules: 1 })]
  perSecond(now, pairs, sliceMs)
  perSecond(first, pairs, sliceMs)
  return {
    round: async () => {
      for (let i = 0; i < SLICES; i += 1) {
        samples.add('now', perSecond(now, pairs, sliceMs))
        samples.add('first', perSecond(first, pairs, sliceMs))
      }
    },
    rows: () => [
      ratioRow(samples, {
        id: 'P18',
        what: `rule set 2 ÷ rule set 1, ${pairs.length} labelled handoffs`,
        unit: 'pairs/s',
        over: ['now', 'first'],
        floor: 0.5,
        target: 1,
      }),
    ],
    [Symbol.asyncDispose]: async () => {},
  }
}

function judgeBy(input: Policy): (pair: Pair) => number {
  const policy = resolvePolicy(input)
  return ({ before, after }) => validateHandoff({ before, after, policy }).findingsTotal
}

let findings = 0

function perSecond(judge: (pair: Pair) => number, pairs: readonly Pair[], milliseconds: number): number {
  const startedMs = performance.now()
  let count = 0
  while (performance.now() - startedMs < milliseconds) {
    for (const pair of pairs) findings += judge(pair)
    count += pairs.length
  }
  if (findings === 0) throw new Error('nothing was found')
  return (count * 1000) / (performance.now() - startedMs)
}
