/** @module Resolves the log that a command refers to: its tenant, its keys, and the last recorded checkpoint. */

import { EVENTS } from '../../schemas/events.ts'
import { parseJson } from '../../schemas/json.ts'
import { ledgerStream, SYSTEM_TENANT, Tenant } from '../../schemas/names.ts'
import { readIdentity } from '../compose/compose.ts'
import { type NoteVerifier, noteVerifier, parseVerifierKey } from '../merkle/note-key.ts'
import type { Settings } from '../settings/config.ts'
import { readKeys } from '../settings/key-source.ts'
import { logKeyChain } from '../signing/ledger-keys.ts'
import type { StoreReader } from '../store/event-store.ts'
import { CliFailure, EXIT, usageFailure } from './failure.ts'
import { isPlain } from './shown.ts'

/** `system` is also a log: that of the ledger's own facts. */
export function tenantOf(text: string | undefined): string {
  if (text === SYSTEM_TENANT) return text
  const tenant = Tenant.safeParse(text ?? 'default')
  if (!tenant.success) throw usageFailure(`--tenant: ${tenant.error.issues[0]?.message}`)
  return tenant.data
}

/**
 * The keys whose checkpoints of a log are accepted, oldest first: the given key, or those of the key file, of which the last one signs now. Throws `CliFailure`
 * if there is neither.
 */
export function logVerifiers(settings: Settings, origin: string | undefined, value?: string): readonly NoteVerifier[] {
  if (value !== undefined) {
    const verifier = parseVerifierKey(value)
    if (verifier === undefined) throw usageFailure(`"${value}" is no verifier key`)
    return [verifier]
  }
  const keys = readKeys(settings.keys)
  if (keys === undefined || origin === undefined) {
    throw new CliFailure(
      'a checkpoint is checked under a key: name the key file with --keys, or the verifier key with --key',
      EXIT.usage,
    )
  }
  return logKeyChain(keys).map((key) => noteVerifier(origin, key))
}

/** `<origin>/<tenant>`, from the founding event. */
export async function originOf(settings: Settings, tenant: string): Promise<string> {
  const identity = await readIdentity(settings)
  if (identity === undefined) throw new CliFailure('there is no ledger in this store yet', EXIT.unproven)
  return `${identity.origin}/${tenant}`
}

/** A note or a proof, which is printed byte for byte. Throws `CliFailure` if it contains terminal control characters, which no ledger writes. */
export function plainNote(text: string): string {
  if (isPlain(text)) return text
  throw new CliFailure(
    'the recorded checkpoint holds control characters, which no ledger writes: run "countersign verify"',
    EXIT.unproven,
  )
}

/** The signed note of the last recorded checkpoint; undefined if there is none yet. */
export async function lastCheckpoint(reader: StoreReader, tenant: string): Promise<string | undefined> {
  for await (const page of reader.readStream(ledgerStream(tenant), { direction: 'backwards' })) {
    for (const { data } of page) {
      const body = EVENTS.CheckpointSigned.schema.safeParse(parseJson(data))
      if (body.success) return body.data.note
    }
  }
  return undefined
}
