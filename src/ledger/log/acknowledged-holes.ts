/** @module The events that the logs continued past, because their losses are acknowledged (LOG-64). */
import type { LogHole, LogStore } from '../../store/log-store.ts'

export type IsAcknowledged = (place: { readonly stream: string; readonly revision: number }) => boolean

/** As the file of the logs has them now; no event, if the ledger keeps no logs. */
export function acknowledgedIn(logStore: Pick<LogStore, 'holedLogs'> | undefined): IsAcknowledged {
  return withinHoles(logStore?.holedLogs().flatMap(({ holes = [] }) => holes) ?? [])
}

/** A hole from before the last revision was kept covers its first event only. */
export function withinHoles(holes: readonly LogHole[]): IsAcknowledged {
  const byStream = new Map<string, LogHole[]>()
  for (const hole of holes) {
    const known = byStream.get(hole.stream)
    if (known === undefined) byStream.set(hole.stream, [hole])
    else known.push(hole)
  }
  return ({ stream, revision }) =>
    byStream.get(stream)?.some((hole) => hole.revision <= revision && revision <= (hole.to ?? hole.revision)) === true
}
