/** @module The checkpoints that a verification compares the history with: one that was stored elsewhere, and those next to the store. */
import { readFileSync } from 'node:fs'
import { CheckpointFile } from '../ledger/log/checkpoint-file.ts'
import { LogStartError } from '../ledger/log/log-deps.ts'
import { isKeyName } from '../merkle/note-key.ts'
import { openNote } from '../merkle/signed-note.ts'
import { CHECKPOINTS_SUFFIX } from '../settings/places.ts'
import { logTenant } from '../signing/stream-tenant.ts'
import { claimedOrigin, filedCheckpoint, type HeldCheckpoint, readLogCheckpoint } from '../verify/checkpoint-check.ts'
import type { VerifyFault } from '../verify/fault.ts'
import type { SourceItem, SourcePages } from '../verify/source-item.ts'
import { CliFailure, EXIT } from './failure.ts'
import { type FindReaderKey, keyForNote } from './reader-keys.ts'
import { oneLine } from './shown.ts'

/** Undefined if no path was given. Throws `CliFailure`: usage if the reader has no key of the log, unproven if the file is not a valid checkpoint. */
export function checkpointAt(path: string | undefined, findKey: FindReaderKey): HeldCheckpoint | undefined {
  if (path === undefined) return undefined
  const note = textOf(path)
  const origin = claimedOrigin(note)
  if (!isKeyName(origin)) throw new CliFailure(`${path} is no checkpoint`, EXIT.unproven)
  const key = keyForNote(findKey, origin, note)
  if (key === undefined)
    throw new CliFailure(
      `a checkpoint is checked under a key, and you have none of the log ${origin}: name it with --key, pin it with "countersign keys pin", or name the key file with --keys`,
      EXIT.usage,
    )
  const read = readLogCheckpoint(note, [key.verifier])
  if (!read.ok) throw new CliFailure(`${path} cannot be used as a checkpoint: ${read.message}`, EXIT.unproven)
  return read
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new CliFailure(`${path} cannot be read as a checkpoint: name a file with one`, EXIT.usage, { cause: error })
  }
}

export function heldAgainst({ checkpoint }: HeldCheckpoint): string {
  return oneLine(`checked against a checkpoint of ${checkpoint.size} events of the log ${checkpoint.origin}`)
}

export interface KeptBeside {
  /** Origin of the ledger that the file belongs to; absent if there is no file. */
  readonly origin?: string
  readonly checkpoints: readonly HeldCheckpoint[]
  readonly faults: readonly VerifyFault[]
  readonly unchecked: readonly string[]
  /** The path of the file and the tenants whose logs it has a checkpoint of; absent if there is no readable file. */
  readonly covered?: { readonly path: string; readonly tenants: ReadonlySet<string> }
}

/** Maximum number of tenants named in one line about unverified ends. */
const NAMED_MAX = 5

/** Passes the pages on, and collects the tenants whose streams begin in them. */
export async function* notingTenants(pages: SourcePages, seen: Set<string>): AsyncGenerator<readonly SourceItem[]> {
  for await (const page of pages) {
    for (const item of page) {
      if ('fault' in item) continue
      for (const { stream, revision } of 'sound' in item ? item.links : [item]) {
        const tenant = revision === 0 ? logTenant(stream) : undefined
        if (tenant !== undefined) seen.add(tenant)
      }
    }
    yield page
  }
}

/** What the checkpoints next to a store leave unverified for its tenants; `held` is a checkpoint from elsewhere. */
export function uncheckedEnds(
  { unchecked, covered }: KeptBeside,
  seen: ReadonlySet<string>,
  held?: HeldCheckpoint,
): readonly string[] {
  const others = [...seen].filter((tenant) => tenant !== held?.tenant)
  const behind = held === undefined ? [] : [behindHeld(held)]
  if (covered === undefined) return others.length === 0 ? behind : [...behind, ...unchecked]
  const open = others.filter((tenant) => !covered.tenants.has(tenant))
  const older = held === undefined ? [OLDER_COPY] : behind
  if (open.length === 0) return [...unchecked, ...older]
  const more = open.length > NAMED_MAX ? ` and ${open.length - NAMED_MAX} more tenants` : ''
  const gap = `${covered.path} has no checkpoint of ${open.slice(0, NAMED_MAX).join(', ')}${more}`
  return [...unchecked, ...older, unshown(gap)]
}

const OLDER_COPY =
  'what came after the last event that is here, should all of this be an older copy with its checkpoints: only a checkpoint that is kept elsewhere shows that (--checkpoint FILE)'

/** A checkpoint proves nothing about later events, nor about another log. */
export function behindHeld({ checkpoint: { size, origin } }: HeldCheckpoint): string {
  return `what came after the first ${size} events of the log ${origin}, and in other logs, should all of this be an older copy: only newer checkpoints that are kept elsewhere show that (--checkpoint FILE)`
}

/**
 * Reads the checkpoint file next to the store. Call this before the store is read: events of later checkpoints are then in the store already. Even without a
 * key, a checkpoint reveals a loss.
 */
export function checkpointsBeside(storePath: string, findKey: FindReaderKey): KeptBeside {
  const path = `${storePath}${CHECKPOINTS_SUFFIX}`
  const found = keptIn(path)
  if (found === undefined) return { checkpoints: [], faults: [], unchecked: [unshown(`there is no ${path}`)] }
  if ('fault' in found) return { checkpoints: [], faults: [found.fault], unchecked: [] }
  const read = [...found.notes].map(([tenant, note]) => heldFrom({ path, tenant, note }, findKey))
  return {
    origin: found.origin,
    checkpoints: read.flatMap(({ held }) => held ?? []),
    faults: read.flatMap(({ fault }) => fault ?? []),
    unchecked: [],
    covered: { path, tenants: new Set(found.notes.keys()) },
  }
}

function unshown(gap: string): string {
  return `whether events were cut off at the end: ${gap}, and only a checkpoint shows that (--checkpoint FILE)`
}

function keptIn(
  path: string,
): { origin: string; notes: ReadonlyMap<string, string> } | { fault: VerifyFault } | undefined {
  try {
    const filed = new CheckpointFile(path).load()
    return filed && { origin: filed.origin, notes: filed.checkpoints }
  } catch (error) {
    if (!(error instanceof LogStartError)) throw error
    return { fault: { code: 'kept-checkpoint', message: error.message } }
  }
}

interface KeptNote {
  readonly path: string
  readonly tenant: string
  readonly note: string
}

function heldFrom(
  { path, tenant, note }: KeptNote,
  findKey: FindReaderKey,
): { held?: HeldCheckpoint; fault?: VerifyFault } {
  const held = filedCheckpoint(tenant, note)
  if (held === undefined)
    return { fault: { code: 'kept-checkpoint', message: `what ${path} has for ${tenant} is no checkpoint of its log` } }
  const key = keyForNote(findKey, held.checkpoint.origin, note)
  if (key === undefined) return { held }
  const opened = openNote(note, [key.verifier])
  if (opened.ok) return { held }
  if (opened.code === 'unknown-key') {
    const message = `the checkpoint of ${tenant} in ${path} is not signed with the key of ${key.from}`
    return { held, fault: { code: 'kept-checkpoint-key', message } }
  }
  return { fault: { code: 'kept-checkpoint', message: `the checkpoint of ${tenant} in ${path} was altered` } }
}
