/** @module Carries out recorded erasures on keys that exist again, as after a copy of `subjects.db` was restored (LIFE-9). */
import type { EventBody } from '../../../schemas/events.ts'
import { parseJson } from '../../../schemas/json.ts'
import { ledgerStream } from '../../../schemas/names.ts'
import type { EventStore, ReadRecord } from '../../store/event-store.ts'
import type { Sealer } from '../identity/sealer.ts'
import { expectedAlone } from '../read/record-seal.ts'
import { checkInStream } from '../read/verified-events.ts'
import type { ErasureList } from './erasure-list.ts'
import type { SubjectKeys } from './subject-keys.ts'

interface ReplayDeps {
  readonly keys: SubjectKeys
  readonly sealer: Sealer
  readonly store: Pick<EventStore, 'readStream'>
  readonly list: ErasureList | undefined
}

/**
 * Reads the events that the key file has not seen yet. Throws `DamagedStreamError` if an erasure among them is not as it was sealed; the ledger does
 * not start then.
 */
export async function replayErasures(deps: ReplayDeps): Promise<void> {
  const { keys, store, list } = deps
  const subjects = keys.store
  const named = [...subjects.inState('open', 'closing', 'erased', 'done'), ...(list?.listed.erasures ?? [])]
  for (const tenant of new Set(named.map((each) => each.tenant))) {
    const before = subjects.seen(tenant)
    let last = before
    for await (const page of store.readStream(ledgerStream(tenant), { from: before + 1 })) {
      for (const record of page) {
        last = record.revision
        if (/"type":"(?:SubjectErased|ErasureRequested)"/.test(record.header)) carryOut(deps, tenant, record)
      }
    }
    if (last > before) subjects.noteSeen(tenant, last)
  }
}

function carryOut({ keys, sealer, list }: ReplayDeps, tenant: string, record: ReadRecord): void {
  const subjects = keys.store
  const { type, time } = checkInStream(sealer, record, expectedAlone(record)).header
  const { keyIds, request } = parseJson<EventBody<'ErasureRequested' | 'SubjectErased'>>(record.data)
  const ids = keyIds.filter((id) => typeof subjects.key(id)?.wrapped === 'string')
  if (ids.length > 0) {
    subjects.close(ids)
    subjects.noteRequest(ids, request)
  }
  if (type !== 'SubjectErased') return
  list?.add({ at: time, tenant, request, keyIds: [...keyIds] })
  if (ids.length > 0) keys.destroy(ids)
  keys.noteErased(keyIds)
}
