/** @module P20: the slowest of the labelled handoffs, and the longest block of the event loop by 200 KB of similar members. */
import { readFileSync } from 'node:fs'
import type { JsonObject } from '../schemas/json.ts'
import { resolvePolicy } from '../schemas/resolve-policy.ts'
import { judgeHandoff } from '../src/domain/validator/validate.ts'
import { type Bench, type BenchGroup, scaled } from './bench.ts'
import type { BenchOptions } from './options.ts'
import { median, Samples } from './statistics.ts'

const PAIRS = 'test/vectors/validator/judgement.jsonl'
/** The best of this many tries counts, which excludes other work of the machine. */
const TRIES = 20
const ALIKE = 3_000

const SLOWEST = 'P20 pair'
const ALIKE_ROW = 'P20 alike'

interface Pair {
  readonly before: JsonObject
  readonly after: JsonObject
}

export const judgeSlowest: BenchGroup = { name: 'the slowest handoffs', ids: [SLOWEST, ALIKE_ROW], open }

async function open(options: BenchOptions): Promise<Bench> {
  const pairs = readFileSync(PAIRS, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Pair)
  const samples = new Samples()
  return {
    round: async () => {
      samples.add(SLOWEST, Math.max(...pairs.map((pair) => quickest(pair, scaled(options, TRIES)).allMs)))
      samples.add(ALIKE_ROW, Math.max(...alikePairs().map((pair) => quickest(pair, scaled(options, TRIES)).longestMs)))
    },
    rows: () => [
      {
        id: SLOWEST,
        what: `slowest of ${pairs.length} labelled handoffs`,
        unit: 'ms',
        numerator: median(samples.of(SLOWEST)),
        bound: 'at-most',
        floor: 1,
        target: 0.5,
      },
      {
        id: ALIKE_ROW,
        what: 'longest hold of the event loop by 200 KB of members that look alike',
        unit: 'ms',
        numerator: median(samples.of(ALIKE_ROW)),
        bound: 'at-most',
        floor: 20,
        target: 10,
      },
    ],
    [Symbol.asyncDispose]: async () => {},
  }
}

/** The same rows in reverse order, with another number in each, with other words in each, and without every second one. */
function alikePairs(): readonly Pair[] {
  const rows = Array.from({ length: ALIKE }, (_, i) => ({
    sort: 'same',
    text: 'the same words in each',
    n: i % 5,
    at: 'here',
  }))
  const changed = [
    [...rows].reverse(),
    rows.map((row) => ({ ...row, n: row.n + 1 })),
    rows.map((row) => ({ ...row, text: 'other words in each' })),
    rows.filter((_, i) => i % 2 === 0),
  ]
  return changed.map((after) => ({ before: { facts: { rows } }, after: { facts: { rows: after } } }))
}

/** The shortest of several tries: in total, and between two pauses. */
function quickest({ before, after }: Pair, tries: number): { allMs: number; longestMs: number } {
  const best = { allMs: Number.POSITIVE_INFINITY, longestMs: Number.POSITIVE_INFINITY }
  const policy = resolvePolicy()
  for (let n = 0; n < tries; n += 1) {
    const judging = judgeHandoff({ before, after, policy })
    const startedMs = processorMs()
    let [lastMs, longestMs] = [startedMs, 0]
    for (let done = false; !done; ) {
      done = judging.next().done === true
      const nowMs = processorMs()
      longestMs = Math.max(longestMs, nowMs - lastMs)
      lastMs = nowMs
    }
    best.allMs = Math.min(best.allMs, lastMs - startedMs)
    best.longestMs = Math.min(best.longestMs, longestMs)
  }
  return best
}

/** CPU time of this process, which excludes other processes of the machine. */
function processorMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
