/**
 * @module Holding a history against a checkpoint that was kept elsewhere: it shows what no chain and no mac can, a cut end, a vanished
 * run, and a history that the holder of the key wrote anew.
 */

import { type Checkpoint, parseCheckpoint } from '../merkle/checkpoint.ts'
import { CompactTree } from '../merkle/compact-tree.ts'
import { leafHash, sameHash } from '../merkle/hashes.ts'
import type { NoteVerifier } from '../merkle/note-key.ts'
import { openNote } from '../merkle/signed-note.ts'
import { streamTenant } from '../signing/stream-tenant.ts'
import type { SourceItem, SourcePages } from './verify-records.ts'

export type ReadCheckpoint =
  | { readonly ok: true; readonly checkpoint: Checkpoint; readonly tenant: string }
  /** Malformed, signed by nobody known, or under a signature that does not fit. */
  | { readonly ok: false; readonly message: string }

/** Origin of the checkpoint in a note, unverified: to find the key that it should be under. */
export function claimedOrigin(note: string): string {
  return note.slice(0, Math.max(note.indexOf('\n'), 0))
}

/** A checkpoint under the key of its log. `<origin>/<tenant>` names both. */
export function readLogCheckpoint(note: string, verifier: NoteVerifier): ReadCheckpoint {
  const opened = openNote(note, [verifier])
  if (!opened.ok) return { ok: false, message: MESSAGES[opened.code] }
  const checkpoint = parseCheckpoint(opened.text)
  if (checkpoint === undefined || checkpoint.origin !== verifier.name) {
    return { ok: false, message: 'what was signed is no checkpoint of this log' }
  }
  return { ok: true, checkpoint, tenant: checkpoint.origin.slice(checkpoint.origin.lastIndexOf('/') + 1) }
}

const MESSAGES = {
  'malformed-note': 'it is no signed note',
  'unknown-key': 'the key of this log did not sign it',
  'invalid-signature': 'its signature does not fit',
} as const

/** The same pages, and last what they hold less, or otherwise, than the checkpoint covers. */
export async function* withCheckpoint(
  pages: SourcePages,
  { checkpoint, tenant }: Extract<ReadCheckpoint, { ok: true }>,
): AsyncGenerator<readonly SourceItem[]> {
  const tree = new CompactTree()
  const streams = new Set<string>()
  for await (const page of pages) {
    for (const item of page) {
      if (tree.size < checkpoint.size && !('fault' in item) && isLeaf(item, tenant, streams))
        tree.append(leafHash(item.header))
    }
    yield page
  }
  if (tree.size < checkpoint.size) {
    const counts = `the checkpoint covers ${checkpoint.size} events of the log ${checkpoint.origin}, only ${tree.size} are here`
    const message = `${counts}: the end was cut off, a run is gone, or this is an older copy`
    yield [{ fault: { code: 'log-behind-checkpoint', message } }]
  } else if (!sameHash(tree.root(), checkpoint.root)) {
    const message = `the first ${checkpoint.size} events of the log ${checkpoint.origin} are not those that the checkpoint signed`
    yield [{ fault: { code: 'checkpoint-mismatch', message } }]
  }
}

/** Events of the tenant's streams, from revision 0 on: a stream without it is in no log. */
export function isLeaf(
  { stream, revision }: { readonly stream: string; readonly revision: number },
  tenant: string,
  streams: Set<string>,
): boolean {
  if (streamTenant(stream) !== tenant) return false
  if (revision === 0) streams.add(stream)
  return streams.has(stream)
}
