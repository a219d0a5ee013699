/** @module A table of verdicts on labelled handoffs: by kind, how many were judged as a careful reader would. */
import type { JsonObject } from '../../../../schemas/json.ts'
import type { ResolvedPolicy } from '../../../../schemas/policy.ts'
import { evidenceOfLine } from '../../../../src/domain/validator/line-evidence.ts'
import type { Supersession } from '../../../../src/domain/validator/supersedes.ts'
import { type Verdict, validateHandoff } from '../../../../src/domain/validator/validate.ts'

export interface Labelled {
  readonly kind: string
  readonly label: 'accept' | 'reject'
  readonly domain: string
  readonly why: string
  readonly name?: string
  readonly before: JsonObject
  readonly after: JsonObject
  readonly supersedes?: readonly Supersession[]
  readonly evidence?: JsonObject
}

export function judgeLabelled(labelled: Labelled, policy: ResolvedPolicy): Verdict {
  const { before, after, supersedes, evidence } = labelled
  return validateHandoff({
    before,
    after,
    policy,
    ...(supersedes === undefined ? {} : { supersedes }),
    ...(evidence === undefined ? {} : { evidence: evidenceOfLine(evidence) }),
  })
}

export interface Confusion {
  readonly missed: readonly string[]
  readonly refused: readonly string[]
  /** Shares of the contradictions missed and of the innocent refused. */
  readonly missedShare: number
  readonly refusedShare: number
  readonly table: string
}

export function confusionOf(set: readonly Labelled[], policyFor: (labelled: Labelled) => ResolvedPolicy): Confusion {
  const kinds = new Map<string, { right: number; wrong: number }>()
  const [missed, refused]: [string[], string[]] = [[], []]
  for (const labelled of set) {
    const { kind, label, domain, name, why } = labelled
    const isRight = judgeLabelled(labelled, policyFor(labelled)).verdict === label
    const row = kinds.get(`${label} ${kind}`) ?? { right: 0, wrong: 0 }
    row[isRight ? 'right' : 'wrong'] += 1
    kinds.set(`${label} ${kind}`, row)
    if (!isRight) (label === 'reject' ? missed : refused).push(name ?? `${domain}: ${why}`)
  }
  const contradictions = set.filter(({ label }) => label === 'reject').length
  const rows = [...kinds].sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    missed,
    refused,
    missedShare: missed.length / contradictions,
    refusedShare: refused.length / (set.length - contradictions),
    table: rows.map(([kind, { right, wrong }]) => `${kind}: ${right} right, ${wrong} wrong`).join('\n'),
  }
}
