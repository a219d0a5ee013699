/**
 * @module A snapshot of the ledger's own stream, kept in the views under a MAC of the key ring, so that a start reads only later events. If it is
 * lost, the whole stream is read once.
 */

import type { EventBody } from '../../../schemas/events.ts'
import { parseJson } from '../../../schemas/json.ts'
import { SYSTEM_STREAM, SYSTEM_TENANT } from '../../../schemas/names.ts'
import type { Expectation } from '../../signing/check.ts'
import { recordDigest } from '../../signing/digests.ts'
import { type EventStore, readOne } from '../../store/event-store.ts'
import { type FoldPlace, loadSealedFold, type SealedFolds, saveSealedFold } from './sealed-fold.ts'

export interface SystemStream {
  readonly founding: EventBody<'LedgerCreated'>
  /** The last key that the ledger announced for its seals. */
  readonly kid: string
  /** Verifier key, under the origin, of the last key that the ledger announced for its logs. */
  readonly logKey: string
  readonly next: Expectation
}

export interface SnapshotDeps extends SealedFolds {
  readonly store: EventStore
}

const PLACE: FoldPlace = {
  tenant: SYSTEM_TENANT,
  stream: SYSTEM_STREAM,
  projection: 'system/1',
  prefix: 'countersign/system-snapshot/v1\n',
}

/** Undefined if there is none that is intact, belongs to this ledger, and matches the current store. */
export async function loadSnapshot(deps: SnapshotDeps): Promise<SystemStream | undefined> {
  const known = loadSealedFold(deps, PLACE, ({ text }) => parseJson<SystemStream>(text))
  if (known === undefined) return undefined
  // A store that was restored from a copy, or a different one, has another event there, or none.
  const head = await readOne(deps.store, { stream: SYSTEM_STREAM, revision: known.next.revision - 1 })
  return head !== undefined && recordDigest(head.header) === known.next.prevDigest ? known : undefined
}

/** If the views cannot save it, only the next start takes longer. */
export function saveSnapshot(deps: SnapshotDeps, known: SystemStream): void {
  saveSealedFold(deps, PLACE, { revision: known.next.revision - 1, text: JSON.stringify(known) })
}
