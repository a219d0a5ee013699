/** @module The checkpoint that a verification holds the history against, read from a file that was kept elsewhere. */
import { readFileSync } from 'node:fs'
import type { Settings } from '../config.ts'
import { isKeyName } from '../merkle/note-key.ts'
import { claimedOrigin, type ReadCheckpoint, readLogCheckpoint } from '../verify/checkpoint-check.ts'
import type { Arguments } from './arguments.ts'
import { CliFailure, EXIT } from './failure.ts'
import { logVerifier } from './log-place.ts'

export type HeldCheckpoint = Extract<ReadCheckpoint, { ok: true }>

/** Undefined where none was named. Throws `CliFailure`: unproven where the file is no checkpoint of this ledger's key. */
export async function checkpointFor({ text }: Arguments, settings: Settings): Promise<HeldCheckpoint | undefined> {
  const path = text('checkpoint')
  if (path === undefined) return undefined
  const note = readFileSync(path, 'utf8')
  const origin = claimedOrigin(note)
  if (!isKeyName(origin)) throw new CliFailure(`${path} is no checkpoint`, EXIT.unproven)
  const verifier = await logVerifier(settings, origin, text('verifier-key'))
  const read = readLogCheckpoint(note, verifier)
  if (!read.ok) throw new CliFailure(`${path} cannot be used as a checkpoint: ${read.message}`, EXIT.unproven)
  return read
}

export function heldAgainst({ checkpoint }: HeldCheckpoint): string {
  return `held against a checkpoint of ${checkpoint.size} events of the log ${checkpoint.origin}`
}
