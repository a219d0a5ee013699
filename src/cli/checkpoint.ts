/** @module `countersign checkpoint`: prints the last checkpoint of a tenant's log, of the store or of a running ledger, to be kept out of its reach. */
import { lossesMember } from '../../schemas/loss.ts'
import { NO_NOTES, openReader } from '../compose/compose-stores.ts'
import { lossesAtRest } from '../compose/log-at-rest.ts'
import { parseVerifierKey } from '../merkle/note-key.ts'
import type { Settings } from '../settings/config.ts'
import type { StoreReader } from '../store/event-store.ts'
import { readLogCheckpoint } from '../verify/checkpoint-check.ts'
import { proveOfflineConsistency } from '../verify/offline-log.ts'
import type { Arguments } from './arguments.ts'
import { CliFailure, EXIT, usageFailure } from './failure.ts'
import { lastCheckpoint, logVerifiers, originOf, plainNote, tenantOf } from './log-place.ts'
import { exitCodeWith } from './named-losses.ts'
import { cosignedBy } from './post-checkpoint.ts'
import { servedCheckpoint } from './served-log.ts'
import { jsonLine } from './shown.ts'
import { ownSuccessions } from './successions.ts'
import { lastTimestamp, writeTimestamp } from './write-timestamp.ts'

export async function checkpoint(inputs: Arguments): Promise<number> {
  const { settings, text, has } = inputs
  if (text('url') !== undefined) return await servedCheckpoint(inputs)
  const tenant = tenantOf(text('tenant'))
  if (has('key')) {
    const verifierKey = logVerifiers(settings, await originOf(settings, tenant)).at(-1)?.text
    process.stdout.write(has('json') ? jsonLine({ tenant, verifierKey }) : `${verifierKey}\n`)
    return EXIT.ok
  }
  if (has('successions')) {
    const successions = ownSuccessions(settings)
    process.stdout.write(has('json') ? jsonLine({ successions }) : `${JSON.stringify(successions, null, 2)}\n`)
    return EXIT.ok
  }
  const folder = text('timestamp')
  using reader = await openReader(settings.store, NO_NOTES)
  if (folder !== undefined) {
    writeTimestamp(await lastTimestamp(reader, tenant), { tenant, folder, json: has('json') })
    return EXIT.ok
  }
  const note = await lastCheckpoint(reader, tenant)
  if (note === undefined) {
    throw new CliFailure(
      `no checkpoint of ${tenant} was signed yet: a running ledger signs one within seconds`,
      EXIT.unproven,
    )
  }
  const url = text('witness')
  const posted = url === undefined ? note : await cosigned({ settings, reader, tenant, note }, url, text('witness-key'))
  process.stdout.write(has('json') ? jsonLine({ tenant, note: posted }) : plainNote(posted))
  // It was signed before: the store may lack by now what it covers.
  const losses = await lossesAtRest(settings, reader)
  return exitCodeWith(lossesMember(losses(tenant)) ?? [])
}

interface Place {
  readonly settings: Settings
  readonly reader: StoreReader
  readonly tenant: string
  readonly note: string
}

async function cosigned(
  { settings, reader, tenant, note }: Place,
  url: string,
  key: string | undefined,
): Promise<string> {
  const witness = parseVerifierKey(key ?? '')
  if (witness === undefined)
    throw usageFailure('--witness-key is missing: the verifier key that the witness prints at its start')
  const read = readLogCheckpoint(note, logVerifiers(settings, await originOf(settings, tenant)))
  if (!read.ok) throw new CliFailure(`the last recorded checkpoint does not verify: ${read.message}`, EXIT.unproven)
  const { checkpoint } = read
  const proofFrom = (from: number) => proveOfflineConsistency(reader, { tenant, from, checkpoint })
  return await cosignedBy({ url, verifier: witness, note, proofFrom, successions: ownSuccessions(settings) })
}
