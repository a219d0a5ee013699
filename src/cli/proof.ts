/** @module `countersign proof EVENT`: prints a file that proves, offline and without our keys, that an event is in its tenant's log. */
import { UUID_PATTERN } from '../../schemas/header.ts'
import { lossesMember } from '../../schemas/loss.ts'
import { NO_NOTES, openReader } from '../compose/compose-stores.ts'
import { tilesForReading } from '../compose/compose-tiles.ts'
import { lossesAtRest } from '../compose/log-at-rest.ts'
import { ACKNOWLEDGED } from '../ledger/ledger-stats.ts'
import type { Settings } from '../settings/config.ts'
import { readOne, type StoreReader } from '../store/event-store.ts'
import { type OfflineProof, type ProofRequest, proveFromTiles, proveOffline } from '../verify/offline-log.ts'
import type { Arguments } from './arguments.ts'
import { CliFailure, EXIT, usageFailure } from './failure.ts'
import { lastCheckpoint, logVerifiers, originOf, plainNote, tenantOf } from './log-place.ts'
import { exitCodeWith } from './named-losses.ts'
import { servedProof } from './served-log.ts'
import { jsonLine, oneLine } from './shown.ts'

const REASONS: Readonly<Record<Extract<OfflineProof, { ok: false }>['code'], string>> = {
  'not-in-log': 'there is no such event in the log of this tenant',
  'not-published': 'no checkpoint covers this event yet: a running ledger signs one within seconds',
  'checkpoint-invalid': 'the last recorded checkpoint does not verify: run "countersign verify"',
  'checkpoint-mismatch': 'the events are not those that the last checkpoint signed: run "countersign verify"',
}

export async function proof(inputs: Arguments): Promise<number> {
  const { settings, text, has, positionals } = inputs
  const [eventId = ''] = positionals
  if (!UUID_PATTERN.test(eventId)) throw usageFailure(`"${eventId}" is no event id`)
  if (text('url') !== undefined) return await servedProof(inputs, eventId)
  const tenant = tenantOf(text('tenant'))
  const verifiers = logVerifiers(settings, await originOf(settings, tenant), text('key'))
  using reader = await openReader(settings.store, NO_NOTES)
  const note = await lastCheckpoint(reader, tenant)
  if (note === undefined) throw new CliFailure(REASONS['not-published'], EXIT.unproven)
  const request = { tenant, eventId, note, verifiers }
  const short = has('trust-nothing') ? undefined : await proofFromFiles(settings, reader, request)
  const found = short ?? (await proveOffline(reader, request))
  if (!found.ok) throw new CliFailure(REASONS[found.code], EXIT.unproven)
  process.stdout.write(has('json') ? jsonLine({ tenant, event: eventId, proof: found.file }) : plainNote(found.file))
  // That other events are lost for good takes nothing from this one.
  const losses = (await lossesAtRest(settings, reader))(tenant).filter(({ code }) => code !== ACKNOWLEDGED)
  return exitCodeWith(lossesMember(losses) ?? [])
}

/** Builds the proof from the log file and a single event, without reading the whole store; undefined if that is not possible. */
async function proofFromFiles(
  settings: Settings,
  reader: StoreReader,
  request: ProofRequest,
): Promise<OfflineProof | undefined> {
  const headerOf = async (stream: string, revision: number): Promise<string | undefined> =>
    (await readOne(reader, { stream, revision }))?.header
  const onLeftAside = (reason: string): void => void process.stderr.write(`${oneLine(`countersign: ${reason}`)}\n`)
  for await (const tiles of tilesForReading(settings, onLeftAside)) {
    const proven = await proveFromTiles(tiles, headerOf, request)
    if (proven !== undefined) return proven
  }
  return undefined
}
