/** @module Discloses all keys of one run, so that others can verify its MACs: recorded first, and only once nothing can follow in the run. */
import type { JsonObject } from '../../../schemas/json.ts'
import { runStream } from '../../../schemas/names.ts'
import { ofAllAgents, withinRun } from '../../access/check-access.ts'
import { readHeader } from '../../signing/header-reader.ts'
import { ringIndex } from '../../signing/key-ring.ts'
import type { EventStore } from '../../store/event-store.ts'
import type { Caller, Found } from '../ledger.ts'
import type { RunWrites } from '../write/write-path.ts'
import type { Sealer } from './sealer.ts'

export interface DiscloseDeps {
  readonly write: RunWrites
  readonly store: EventStore
  readonly sealer: Sealer
  readonly ledgerId: string
}

/** The returned value is the file that `verify --run-key` reads: one key for each key id that sealed an event of the run. */
export async function discloseRunKeys(
  { write, store, sealer, ledgerId }: DiscloseDeps,
  caller: Caller,
  runId: string,
): Promise<Found<JsonObject>> {
  const outside = withinRun(caller, runId) ?? ofAllAgents(caller)
  if (outside !== undefined) return { ok: false, refusal: outside }
  const outcome = await write.execute(caller, runId, { kind: 'disclose' }, {})
  if (!outcome.ok) return { ok: false, refusal: outcome.refusal }

  const { tenant } = caller
  const stream = runStream(tenant, runId)
  const kids = new Set<string>()
  for await (const page of store.readStream(stream)) {
    for (const record of page) {
      const read = readHeader(record.header)
      if (read.ok) kids.add(read.header.kid)
    }
  }
  const keys = [...kids]
    .sort((a, b) => ringIndex(sealer.ring, a) - ringIndex(sealer.ring, b))
    .flatMap((kid) => {
      const key = sealer.keyOf(kid, tenant, stream)
      return key === undefined || key instanceof Uint8Array ? [] : [{ kid, key: key.export().toString('base64url') }]
    })
  return { ok: true, revision: outcome.revision, value: { v: 1, ledgerId, tenant, run: runId, stream, keys } }
}
