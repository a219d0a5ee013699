/** @module What the holder of the HMAC key can do: write a whole history again, so that no mac and no link shows it. */
import { realEffects } from '../../src/ledger/effects.ts'
import { createRunKeys, currentKey } from '../../src/signing/key-ring.ts'
import type { LedgerKeys } from '../../src/signing/ledger-keys.ts'
import { sealEvents } from '../../src/signing/seal.ts'
import type { EventStore } from '../../src/store/event-store.ts'
import { collect } from './records.ts'

/** Every event of a store sealed again into another, "step 1" told as "step 9"; the checkpoints left out, or left as they were. */
export async function rewritten<S extends EventStore>(
  store: Pick<EventStore, 'readAll'>,
  keys: LedgerKeys,
  target: S,
  { checkpoints = 'dropped' }: { readonly checkpoints?: 'dropped' | 'kept' } = {},
): Promise<S> {
  const runKeys = createRunKeys(keys.ring)
  const { newId, newSalt } = realEffects()
  const { kid } = currentKey(keys.ring)
  const prev = new Map<string, string>()
  const revisions = new Map<string, number>()
  for (const { stream, header, data } of await collect(store.readAll())) {
    const { tenant, actor, type, time } = JSON.parse(header) as Record<'tenant' | 'actor' | 'type' | 'time', string>
    if (type === 'CheckpointSigned' && checkpoints === 'dropped') continue
    const revision = revisions.get(stream) ?? 0
    revisions.set(stream, revision + 1)
    const key = runKeys.keyFor(kid, tenant, stream)
    if (key === undefined) throw new Error('no key')
    const changed = JSON.parse(data.replace('step 1', 'step 9'))
    const context = { stream, tenant, actor, revision, prev: prev.get(stream), clock: time, kid, key, newId, newSalt }
    const [event] = sealEvents([{ type, data: changed }], context)
    if (event === undefined) throw new Error('not sealed')
    prev.set(stream, event.digest)
    await target.append({ stream, expectedRevision: revision - 1, records: [event.record] })
  }
  return target
}
