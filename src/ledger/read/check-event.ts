/** @module Checks one event of a run as verification would: its MAC, its body, its place, and the link to the event before it. */
import type { JsonObject } from '../../../schemas/json.ts'
import { runStream } from '../../../schemas/names.ts'
import { refusal } from '../../domain/refusal.ts'
import { checkRecord, type Expectation, firstExpectation } from '../../signing/check.ts'
import { recordDigest } from '../../signing/digests.ts'
import { readHeader } from '../../signing/header-reader.ts'
import { ringIndex } from '../../signing/key-ring.ts'
import type { EventStore, ReadRecord } from '../../store/event-store.ts'
import type { Sealer } from '../identity/sealer.ts'
import type { Caller, CheckedEvent, Found } from '../ledger.ts'
import type { Queries } from './queries.ts'
import { reportFaults } from './record-seal.ts'

interface CheckDeps {
  readonly store: EventStore
  readonly sealer: Sealer
  readonly queries: Queries
}

export async function checkEvent(
  { store, sealer, queries }: CheckDeps,
  caller: Caller,
  { runId, revision }: { readonly runId: string; readonly revision: number },
): Promise<Found<CheckedEvent>> {
  const found = await lastOf({ store, queries }, caller, runId)
  if (!found.ok) return found
  if (revision > found.revision) {
    const evidence = { revision: found.revision }
    return { ok: false, refusal: refusal('unknown-step', `the run has no event ${revision}`, { evidence }) }
  }
  const stream = runStream(caller.tenant, runId)
  const records: ReadRecord[] = []
  for await (const page of store.readStream(stream, { from: Math.max(0, revision - 1), to: revision })) {
    records.push(...page)
  }
  const record = records.at(-1)
  const before = revision === 0 ? undefined : records.at(-2)
  const expected = before === undefined ? firstExpectation(stream) : expectationAfter(before, sealer)
  if (record?.revision !== revision || expected === undefined) {
    const faults = [{ code: 'missing', message: 'the event, or the one before it, cannot be read' }]
    return { ok: true, revision: found.revision, value: { faults } }
  }
  const checked = checkRecord(record, { ...expected, revision }, { ring: sealer.ring, runKeys: sealer.runKeys })
  if (!checked.ok) reportFaults(sealer, record, checked.faults)
  const faults = checked.ok ? [] : checked.faults.map(({ code, message }) => ({ code, message }))
  return { ok: true, revision: found.revision, value: { faults } }
}

/** A run that does not verify can still be checked event by event, to find out which of its events are intact. */
async function lastOf(
  { store, queries }: Pick<CheckDeps, 'store' | 'queries'>,
  caller: Caller,
  runId: string,
): Promise<Found<JsonObject>> {
  const found = await queries.read(caller, runId, () => ({}))
  if (found.ok || found.refusal.code !== 'stream-damaged') return found
  return { ok: true, revision: await store.head(runStream(caller.tenant, runId)), value: {} }
}

function expectationAfter(before: ReadRecord, sealer: Sealer): Expectation | undefined {
  const read = readHeader(before.header)
  if (!read.ok) return undefined
  const { stream, revision, time, kid } = read.header
  const minRingIndex = Math.max(0, ringIndex(sealer.ring, kid))
  return { stream, revision: revision + 1, prevDigest: recordDigest(before.header), prevTime: time, minRingIndex }
}
