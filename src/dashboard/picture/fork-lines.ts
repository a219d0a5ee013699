/** @module The lines of forks: from the start of a fork to each branch, and from the merged branches to the join. */
import type { Line, PlacedMark } from './placed.ts'

export interface ForkLine extends Line {
  readonly merged: boolean
}

export function forkLines(marks: readonly PlacedMark[]): readonly ForkLine[] {
  const opened = new Map<string, PlacedMark>()
  /** The last report of each branch. */
  const reports = new Map<string, PlacedMark>()
  const lines: ForkLine[] = []
  for (const placed of marks) {
    const { kind, fork = '', branches = [] } = placed.mark
    if (kind === 'fork') opened.set(fork, placed)
    if (kind === 'offer' || kind === 'branch') {
      const name = `${fork} ${branches[0] ?? ''}`
      const from = reports.get(name) ?? opened.get(fork)
      if (from !== undefined)
        lines.push({ ...between(from, placed), merged: kind === 'offer' || placed.mark.cause === 'merged' })
      reports.set(name, placed)
    }
    if (kind !== 'join') continue
    for (const branch of branches) {
      const from = reports.get(`${fork} ${branch}`)
      if (from !== undefined) lines.push({ ...between(from, placed), merged: true })
    }
  }
  return lines
}

function between(from: PlacedMark, to: PlacedMark): Line {
  return { x1: from.x, y1: from.y, x2: to.x, y2: to.y }
}
