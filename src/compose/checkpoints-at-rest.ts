/** @module What the checkpoints beside a store cover and the store lacks, for a process that only reads: a server would not start on it (LOG-8). */
import { EVENTS } from '../../schemas/events.ts'
import { parseJsonOrUndefined } from '../../schemas/json.ts'
import type { Loss } from '../../schemas/loss.ts'
import { SYSTEM_STREAM } from '../../schemas/names.ts'
import { CheckpointFile, type FiledCheckpoints } from '../ledger/log/checkpoint-file.ts'
import { LogStartError } from '../ledger/log/log-deps.ts'
import type { Settings } from '../settings/config.ts'
import { isOnServer } from '../settings/places.ts'
import type { LedgerKeys } from '../signing/ledger-keys.ts'
import { readOne, type StoreReader } from '../store/event-store.ts'
import { AcknowledgedLosses } from '../verify/acknowledged-losses.ts'
import { filedCheckpoint, type HeldCheckpoint, withCheckpoints } from '../verify/checkpoint-check.ts'
import { acknowledgedAmong, lossOfEvent } from './acknowledged-at-rest.ts'
import { checkpointsPath } from './compose-files.ts'

const KEPT_DAMAGED: Loss = { scope: 'store', code: 'kept-checkpoint' }

/**
 * `keys`: of the ledger, without which no acknowledged loss is passed. `knownSize`: the number of events that the ledger's own log file knows of a tenant; what it covers is looked for there. The store is read from its start only
 * if a checkpoint covers more, as without that file.
 */
export async function lossesBehindCheckpoints(
  settings: Settings,
  reader: StoreReader,
  knownSize: (tenant: string) => number,
  keys?: LedgerKeys,
): Promise<readonly Loss[]> {
  const path = checkpointsPath(settings)
  const filed = path === undefined ? undefined : filedAt(path)
  if (filed === undefined) return []
  if (filed === 'damaged') return [KEPT_DAMAGED]
  const kept = [...filed.checkpoints].map(([tenant, note]) => filedCheckpoint(tenant, note))
  const held = kept.filter((each) => each !== undefined)
  const uncovered = held.filter(({ tenant, checkpoint }) => checkpoint.size > knownSize(tenant))
  const damaged = held.length < kept.length ? [KEPT_DAMAGED] : []
  if (uncovered.length === 0) return damaged
  // The folder of a server's process may have served another ledger before.
  if (isOnServer(settings.store) && (await originIn(reader)) !== filed.origin) return damaged
  const codes = await faultsOf(reader, uncovered)
  const lost = codes.size === 0 || keys === undefined ? [] : await acknowledgedAmong(reader.readAll(), keys)
  const left = lost.length === 0 ? codes : await faultsOf(reader, uncovered, new AcknowledgedLosses(lost))
  return [...damaged, ...[...left].map((code): Loss => ({ scope: 'store', code })), ...lost.map(lossOfEvent)]
}

async function faultsOf(
  reader: StoreReader,
  held: readonly HeldCheckpoint[],
  acknowledged?: AcknowledgedLosses,
): Promise<ReadonlySet<string>> {
  const codes = new Set<string>()
  for await (const page of withCheckpoints(reader.readAll(), held, acknowledged))
    for (const item of page) if ('fault' in item) codes.add(item.fault.code)
  return codes
}

function filedAt(path: string): FiledCheckpoints | 'damaged' | undefined {
  try {
    return new CheckpointFile(path).load()
  } catch (error) {
    if (error instanceof LogStartError) return 'damaged'
    throw error
  }
}

async function originIn(reader: StoreReader): Promise<string | undefined> {
  const record = await readOne(reader, { stream: SYSTEM_STREAM, revision: 0 })
  return EVENTS.LedgerCreated.schema.safeParse(parseJsonOrUndefined(record?.data ?? '')).data?.origin
}
