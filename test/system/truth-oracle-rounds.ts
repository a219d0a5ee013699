/** @module Rounds of the truth oracle: every class of damage, over a history of its own, and what all of them come to. */
import { join } from 'node:path'
import { seededRandom } from '../support/random.ts'
import { type Case, damagesOf, runCase } from './truth-oracle.ts'
import { kindOf } from './truth-oracle-exits.ts'
import { makeHistory, type OracleKind } from './truth-oracle-history.ts'
import type { Serving } from './truth-oracle-served.ts'

/** The classes of damage of stores in files. */
export const CLASSES: readonly string[] = classesOf('sqlite')

export function classesOf(kind: OracleKind): readonly string[] {
  return Object.keys(damagesOf(kind))
}

export interface Tally {
  cases: number
  asked: number
  /** Claims of states that nobody can tell from honest ones. */
  untellable: number
  /** By class of damage, then by kind of exit: one of the claims that are not so, and how to see it again. */
  readonly claims: Map<string, Map<string, { readonly claim: string; readonly seed: number; times: number }>>
}

export interface Rounds {
  readonly seed: number
  /** Default: stores in files. */
  readonly kind?: OracleKind
  /** Default: each case in this process. */
  readonly by?: Serving
  readonly classes: readonly string[]
  /** Whether one more round begins. */
  readonly goesOn: (tally: Tally, rounds: number) => boolean
  /** See `CaseOptions`. */
  readonly only?: string | undefined
  /** Where what was handed out is kept, for another checker. */
  readonly keep?: string
  readonly onCase?: (found: Case, seed: number) => void
}

/** Rounds of one history each: that of round n has the seed `seed + n`, which alone makes the round again. */
export async function runRounds({
  seed,
  kind = 'sqlite',
  by,
  classes,
  goesOn,
  only,
  keep,
  onCase,
}: Rounds): Promise<Tally> {
  const all = classesOf(kind)
  const tally: Tally = { cases: 0, asked: 0, untellable: 0, claims: new Map() }
  for (let round = 0; goesOn(tally, round); round += 1) {
    const own = seed + round
    await using history = await makeHistory(own, kind)
    for (const name of classes) {
      // Each class draws by itself, so that one alone strikes where it did among all.
      const random = seededRandom(own * 1_000 + all.indexOf(name))
      const kept = keep === undefined ? undefined : join(keep, `${own}-${all.indexOf(name)}`)
      const found = await runCase(history, name, { random, only, keep: kept, ...(by && { by }) })
      onCase?.(found, own)
      add(tally, found, own)
    }
  }
  return tally
}

function add(tally: Tally, { damage, asked, findings, untellable }: Case, seed: number): void {
  tally.cases += 1
  tally.asked += asked
  if (untellable) tally.untellable += findings.length
  if (untellable || findings.length === 0) return
  const ofDamage = tally.claims.get(damage) ?? new Map()
  tally.claims.set(damage, ofDamage)
  for (const { exit, claim } of findings) {
    const known = ofDamage.get(kindOf(exit))
    if (known === undefined) ofDamage.set(kindOf(exit), { claim: `${exit}: ${claim}`, seed, times: 1 })
    else known.times += 1
  }
}

/** Counts, a line each. */
export function tallyLines({ cases, asked, untellable, claims }: Tally): readonly string[] {
  const times = (of: ReadonlyMap<string, { readonly times: number }>): number =>
    [...of.values()].reduce((sum, each) => sum + each.times, 0)
  const all = [...claims.values()].reduce((sum, each) => sum + times(each), 0)
  return [
    `${cases} cases, ${asked} exits asked, ${all} false claims, ${untellable} claims of states that cannot be told`,
    ...[...claims].map(
      ([damage, of]) => `  ${damage}: ${[...of].map(([kind, each]) => `${kind} ${each.times}`).join(', ')}`,
    ),
  ]
}
