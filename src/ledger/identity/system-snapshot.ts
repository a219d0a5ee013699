/**
 * @module What the start knows of the ledger's own stream, kept in the views under a mac of the ring, so that it reads only what came since.
 * Losing it costs one reading of the whole stream.
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
  /** Verifier key, under the origin, of the key that the ledger announced last for its logs. */
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

/** Undefined where there is none that is whole, is this ledger's, and is about the store as it is. */
export async function loadSnapshot(deps: SnapshotDeps): Promise<SystemStream | undefined> {
  const known = loadSealedFold(deps, PLACE, ({ text }) => parseJson<SystemStream>(text))
  if (known === undefined) return undefined
  // A store restored from a copy, or another one, has something else there, or nothing.
  const head = await readOne(deps.store, { stream: SYSTEM_STREAM, revision: known.next.revision - 1 })
  return head !== undefined && recordDigest(head.header) === known.next.prevDigest ? known : undefined
}

/** Views that cannot take it cost time at the next start, and nothing else. */
export function saveSnapshot(deps: SnapshotDeps, known: SystemStream): void {
  saveSealedFold(deps, PLACE, { revision: known.next.revision - 1, text: JSON.stringify(known) })
}
