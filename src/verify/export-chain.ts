/**
 * @module Comparison of the parts of a log: each must continue where the previous one ends, with the same root, so that no part of the log is missing or
 * duplicated between them. The content of each part is verified separately.
 */
import type { ExportTrailer } from '../../schemas/export-trailer.ts'
import type { HeldCheckpoint } from './checkpoint-check.ts'
import { notHeld } from './export-completeness.ts'
import type { VerifyFault } from './fault.ts'

export interface ChainPart {
  /** Name given by the caller. */
  readonly name: string
  /** Absent if the file has no valid trailer. */
  readonly trailer?: ExportTrailer | undefined
  /** Whether the saved checkpoint was compared with this part. */
  readonly held?: boolean | undefined
}

export interface Chain {
  readonly tenant: string
  /** Index of the first leaf. */
  readonly from: number
  /** Size of the log at the end of the last part. */
  readonly to: number
  readonly root: string
  readonly faults: readonly VerifyFault[]
}

interface Range {
  readonly name: string
  readonly ledgerId: string
  readonly tenant: string
  readonly from: number
  readonly fromRoot: string | undefined
  readonly to: number
  readonly root: string
}

/** Parts are compared in log order, whatever the order of the arguments. Undefined if none of them is a part of a log. */
export function judgeChain(parts: readonly ChainPart[], kept?: HeldCheckpoint): Chain | undefined {
  const ranges = parts.flatMap((part) => rangeOf(part) ?? []).sort((a, b) => a.from - b.from || a.to - b.to)
  const [first] = ranges
  if (first === undefined) return undefined
  const faults: VerifyFault[] = parts.filter((part) => rangeOf(part) === undefined).map(noPart)
  let last = first
  for (const range of ranges.slice(1)) {
    faults.push(...joinFaults(last, range))
    if (range.to >= last.to) last = range
  }
  const { tenant, from } = first
  const isHeld = parts.some(({ held }) => held === true)
  if (kept !== undefined && kept.tenant === tenant && !isHeld) faults.push(notHeld(kept, { from, to: last.to }))
  return { tenant, from, to: last.to, root: last.root, faults }
}

/** A whole tenant's export counts as the part that starts at leaf 0. */
function rangeOf({ name, trailer }: ChainPart): Range | undefined {
  if (trailer === undefined || trailer.run !== null || trailer.filter !== undefined) return undefined
  const { ledgerId, tenant, from = 0, fromRoot, treeSize, root } = trailer
  if (typeof treeSize !== 'number' || typeof root !== 'string') return undefined
  return { name, ledgerId, tenant, from, fromRoot, to: treeSize, root }
}

function noPart({ name, trailer }: ChainPart): VerifyFault {
  const reason = trailer === undefined ? 'it has no sound trailer' : 'it is of a run or a query, or names no tree'
  return { code: 'part-scope', message: `${name} is no part of a log that could exist beside the others: ${reason}` }
}

/** `before`: among the parts that begin earlier, the one that ends last. */
function joinFaults(before: Range, range: Range): readonly VerifyFault[] {
  const { name, from, fromRoot } = range
  if (before.ledgerId !== range.ledgerId || before.tenant !== range.tenant)
    return [{ code: 'part-scope', message: `${before.name} and ${name} are of two logs: verify each log by itself` }]
  if (from > before.to)
    return [
      {
        code: 'part-gap',
        message: `leaves ${before.to} to ${from - 1} are missing between ${before.name} and ${name}`,
      },
    ]
  if (from < before.to)
    return [
      {
        code: 'part-overlap',
        message: `leaves from ${from} on are in ${before.name} and in ${name}: of what overlaps nothing shows that it is the same`,
      },
    ]
  if (fromRoot === before.root || (from === 0 && before.to === 0)) return []
  return [
    {
      code: 'part-root',
      message: `${name} goes on from another history than the one that ${before.name} holds: at leaf ${from} their trees differ`,
    },
  ]
}
