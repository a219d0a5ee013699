/** @module `countersign checkpoint`: the last checkpoint of a tenant's log, to keep where this ledger cannot reach it. */
import { openReader } from '../compose-stores.ts'
import type { Settings } from '../config.ts'
import { parseVerifierKey } from '../merkle/note-key.ts'
import type { StoreReader } from '../store/sqlite/sqlite-reader.ts'
import { readLogCheckpoint } from '../verify/checkpoint-check.ts'
import { proveOfflineConsistency } from '../verify/offline-log.ts'
import { PLACE_SETTINGS, readArguments } from './arguments.ts'
import { CliFailure, EXIT, usageFailure } from './failure.ts'
import { lastCheckpoint, logVerifier, originOf, plainNote, tenantOf } from './log-place.ts'
import { cosignedBy } from './post-checkpoint.ts'

export async function checkpoint(args: readonly string[]): Promise<number> {
  const { settings, text, has } = readArguments(args, {
    settings: PLACE_SETTINGS,
    texts: ['tenant', 'witness', 'witness-key'],
    switches: ['key'],
  })
  const tenant = tenantOf(text('tenant'))
  if (has('key')) {
    process.stdout.write(`${(await logVerifier(settings, await originOf(settings, tenant))).text}\n`)
    return EXIT.ok
  }
  using reader = await openReader(settings.store)
  const note = await lastCheckpoint(reader, tenant)
  if (note === undefined) {
    throw new CliFailure(
      `no checkpoint of ${tenant} was signed yet: a running ledger signs one within seconds`,
      EXIT.unproven,
    )
  }
  const url = text('witness')
  const posted = url === undefined ? note : await cosigned({ settings, reader, tenant, note }, url, text('witness-key'))
  process.stdout.write(plainNote(posted))
  return EXIT.ok
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
  const read = readLogCheckpoint(note, await logVerifier(settings, await originOf(settings, tenant)))
  if (!read.ok) throw new CliFailure(`the last checkpoint on record does not verify: ${read.message}`, EXIT.unproven)
  const { checkpoint } = read
  const proofFrom = (from: number) => proveOfflineConsistency(reader.readAll(), { tenant, from, checkpoint })
  return await cosignedBy({ url, verifier: witness, note, proofFrom })
}
