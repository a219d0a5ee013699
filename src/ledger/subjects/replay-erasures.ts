/** @module Erasures that are on record carried out on keys that are there again, as after a copy of `subjects.db` was put back (LIFE-9). */
import type { EventBody } from '../../../schemas/events.ts'
import { parseJson } from '../../../schemas/json.ts'
import { ledgerStream } from '../../../schemas/names.ts'
import type { EventStore } from '../../store/event-store.ts'
import type { Sealer } from '../identity/sealer.ts'
import { expectedAlone } from '../read/record-seal.ts'
import { checkInStream } from '../read/verified-events.ts'
import type { SubjectKeys } from './subject-keys.ts'

interface ReplayDeps {
  readonly keys: SubjectKeys
  readonly sealer: Sealer
  readonly store: Pick<EventStore, 'readStream'>
}

/** From where the file has seen the record on. Throws `DamagedStreamError` where an erasure there is not as it was sealed: then nobody is served. */
export async function replayErasures({ keys, sealer, store }: ReplayDeps): Promise<void> {
  const subjects = keys.store
  const tenants = new Set(subjects.inState('open', 'closing').map(({ tenant }) => tenant))
  for (const tenant of tenants) {
    const before = subjects.seen(tenant)
    let last = before
    for await (const page of store.readStream(ledgerStream(tenant), { from: before + 1 })) {
      for (const record of page) {
        last = record.revision
        if (!/"type":"(?:SubjectErased|ErasureRequested)"/.test(record.header)) continue
        const { type } = checkInStream(sealer, record, expectedAlone(record)).header
        const data = parseJson<EventBody<'ErasureRequested' | 'SubjectErased'>>(record.data)
        const ids = data.keyIds.filter((id) => typeof subjects.key(id)?.wrapped === 'string')
        if (ids.length === 0) continue
        subjects.close(ids)
        subjects.noteRequest(ids, data.request)
        if (type !== 'SubjectErased') continue
        keys.destroy(ids)
        subjects.noteDone(ids)
      }
    }
    if (last > before) subjects.noteSeen(tenant, last)
  }
}
