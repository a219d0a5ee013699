/** @module `countersign proof EVENT`: a file that shows, offline and without our keys, that an event is in its tenant's log. */
import { UUID_PATTERN } from '../../schemas/header.ts'
import { tilesForReading } from '../compose/compose-derived.ts'
import { openReader } from '../compose/compose-stores.ts'
import { readOne } from '../store/event-store.ts'
import { type OfflineProof, proveFromTiles, proveOffline } from '../verify/offline-log.ts'
import type { Arguments } from './arguments.ts'
import { CliFailure, EXIT, usageFailure } from './failure.ts'
import { lastCheckpoint, logVerifiers, originOf, plainNote, tenantOf } from './log-place.ts'
import { jsonLine } from './shown.ts'

const REASONS: Readonly<Record<Extract<OfflineProof, { ok: false }>['code'], string>> = {
  'not-in-log': 'there is no such event in the log of this tenant',
  'not-published': 'no checkpoint covers this event yet: a running ledger signs one within seconds',
  'checkpoint-invalid': 'the last checkpoint on record does not verify: run "countersign verify"',
  'checkpoint-mismatch': 'the events are not those that the last checkpoint signed: run "countersign verify"',
}

export async function proof({ settings, text, has, positionals }: Arguments): Promise<number> {
  const [eventId = ''] = positionals
  if (!UUID_PATTERN.test(eventId)) throw usageFailure(`"${eventId}" is no event id`)
  const tenant = tenantOf(text('tenant'))
  const verifiers = logVerifiers(settings, await originOf(settings, tenant), text('key'))
  using reader = await openReader(settings.store)
  const note = await lastCheckpoint(reader, tenant)
  if (note === undefined) throw new CliFailure(REASONS['not-published'], EXIT.unproven)
  using tiles = has('trust-nothing') ? undefined : tilesForReading(settings)
  const request = { tenant, eventId, note, verifiers }
  const headerOf = async (stream: string, revision: number): Promise<string | undefined> =>
    (await readOne(reader, { stream, revision }))?.header
  const found =
    (tiles && (await proveFromTiles(tiles, headerOf, request))) ?? (await proveOffline(reader.readAll(), request))
  if (!found.ok) throw new CliFailure(REASONS[found.code], EXIT.unproven)
  process.stdout.write(has('json') ? jsonLine({ tenant, event: eventId, proof: found.file }) : plainNote(found.file))
  return EXIT.ok
}
