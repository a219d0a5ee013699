/** @module `countersign checkpoint`: the last checkpoint of a tenant's log, to keep where this ledger cannot reach it. */
import { openReader } from '../compose.ts'
import { PLACE_SETTINGS, readArguments } from './arguments.ts'
import { CliFailure, EXIT } from './failure.ts'
import { lastCheckpoint, logVerifier, originOf, tenantOf } from './log-place.ts'

export async function checkpoint(args: readonly string[]): Promise<number> {
  const { settings, text, has } = readArguments(args, {
    settings: PLACE_SETTINGS,
    texts: ['tenant'],
    switches: ['key'],
  })
  const tenant = tenantOf(text('tenant'))
  if (has('key')) {
    process.stdout.write(`${(await logVerifier(settings, await originOf(settings, tenant))).text}\n`)
    return EXIT.ok
  }
  using reader = openReader(settings.store)
  const note = await lastCheckpoint(reader, tenant)
  if (note === undefined) {
    throw new CliFailure(
      `no checkpoint of ${tenant} was signed yet: a running ledger signs one within seconds`,
      EXIT.unproven,
    )
  }
  process.stdout.write(note)
  return EXIT.ok
}
