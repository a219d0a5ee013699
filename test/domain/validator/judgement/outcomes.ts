/** @module What became of labelled handoffs: refused, accepted as suspect, or accepted in silence, for the innocent and for the spoilt. */
import type { ResolvedPolicy } from '../../../../schemas/policy.ts'
import type { Verdict } from '../../../../src/domain/validator/validate.ts'
import { judgeLabelled, type Labelled } from './confusion.ts'

export type Outcome = 'refused' | 'suspect' | 'silent'

/** Warnings about the saying itself, not about what was handed over. */
const NO_SUSPICION: ReadonlySet<string> = new Set(['nothing-protected', 'supersedes-invalid'])

export function outcomeOf({ verdict, findings }: Pick<Verdict, 'verdict' | 'findings'>): Outcome {
  if (verdict === 'reject') return 'refused'
  const isSuspect = findings.some(({ rule, severity }) => severity === 'warning' && !NO_SUSPICION.has(rule))
  return isSuspect ? 'suspect' : 'silent'
}

export interface Counts {
  readonly of: number
  readonly refused: number
  readonly suspect: number
  readonly silent: number
}

export interface Figures {
  readonly innocent: Counts
  readonly spoilt: Counts
  /** By label and what `groupOf` says of each. */
  readonly groups: ReadonlyMap<string, Counts>
}

const NONE: Counts = { of: 0, refused: 0, suspect: 0, silent: 0 }

function plusOne(counts: Counts, outcome: Outcome): Counts {
  return { ...counts, of: counts.of + 1, [outcome]: counts[outcome] + 1 }
}

export function figuresOf(
  set: readonly Labelled[],
  policy: ResolvedPolicy,
  groupOf: (labelled: Labelled) => string,
): Figures {
  let [innocent, spoilt] = [NONE, NONE]
  const groups = new Map<string, Counts>()
  for (const labelled of set) {
    const outcome = outcomeOf(judgeLabelled(labelled, policy))
    if (labelled.label === 'accept') innocent = plusOne(innocent, outcome)
    else spoilt = plusOne(spoilt, outcome)
    const group = `${labelled.label} ${groupOf(labelled)}`
    groups.set(group, plusOne(groups.get(group) ?? NONE, outcome))
  }
  return { innocent, spoilt, groups }
}

export function printedCounts({ of, refused, suspect, silent }: Counts): string {
  return `refused ${refused}, suspect ${suspect}, silent ${silent} of ${of}`
}
