/** @module Comparison of a checkpoint that a reader saved with the current log. */

import { z } from 'zod'
import { parseJson } from '../../schemas/json.ts'
import type { TenantLogs } from '../ledger/log/tenant-logs.ts'
import { type Checkpoint, formatCheckpoint, parseCheckpoint } from '../merkle/checkpoint.ts'
import { readSuccession } from '../merkle/key-succession.ts'
import { type NoteVerifier, noteVerifier, parseVerifierKey } from '../merkle/note-key.ts'
import { openNote, parseNote } from '../merkle/signed-note.ts'
import { sha256 } from '../signing/digests.ts'
import { plural } from './format.ts'

const AUTHORITY_MAX_CHARS = 256

export interface CheckpointVerdict {
  /** `unknown`: the checkpoint makes no statement about this log. */
  readonly verdict: 'same' | 'altered' | 'unknown'
  readonly text: string
}

type Logs = Pick<TenantLogs, 'verifierKey' | 'successions' | 'consistency' | 'checkpoint'>

/** Accepts a checkpoint, or one with its time-stamp as returned by `GET /v1/log/timestamp`. Never throws, whatever was pasted. */
export async function holdPastedAgainst(logs: Logs, tenant: string, pasted: string): Promise<CheckpointVerdict> {
  return pasted.trimStart().startsWith('{')
    ? holdStampedAgainst(logs, tenant, pasted)
    : holdAgainst(logs, tenant, pasted)
}

const Stamped = z.object({ checkpoint: z.string(), reply: z.base64(), authority: z.string().max(AUTHORITY_MAX_CHARS) })

async function holdStampedAgainst(logs: Logs, tenant: string, pasted: string): Promise<CheckpointVerdict> {
  const stamped = Stamped.safeParse(parsedJson(pasted))
  if (!stamped.success) return unknown('It is no time-stamp as this ledger gives them, with checkpoint and reply.')
  const { checkpoint: text, reply, authority } = stamped.data
  const checkpoint = parseCheckpoint(text)
  if (checkpoint === undefined || checkpoint.origin !== keysOf(logs, tenant)[0]?.name)
    return unknown('What was time-stamped is no checkpoint of this log.')
  // The library for tokens is loaded only when it is needed.
  const { readTimestampReply } = await import('../timestamps/timestamp-reply.ts')
  const read = readTimestampReply(Buffer.from(reply, 'base64'), { digest: sha256(Buffer.from(text)) })
  if (!read.ok) return unknown(`The time-stamp does not fit the checkpoint (${read.code}): ${read.message}.`)
  const held = heldAgainst(logs, tenant, checkpoint)
  const by = `The token is for exactly this checkpoint, of ${authority}, and dated ${read.token.time}.`
  const who = 'Whether the authority signed it, "openssl ts -verify" or "countersign verify --timestamp-ca" says.'
  return { ...held, text: `${held.text} ${by} ${who}` }
}

function parsedJson(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

/** Never throws, whatever was pasted. */
export function holdAgainst(logs: Logs, tenant: string, pasted: string): CheckpointVerdict {
  // A form sends lines with CRLF, and a copied text may lack the last line feed.
  const note = `${pasted.replaceAll('\r\n', '\n').trim()}\n`
  const known = keysOf(logs, tenant)
  const opened = openNote(note, known)
  if (!opened.ok) return unknown(MESSAGES[opened.code])
  const checkpoint = parseCheckpoint(opened.text)
  if (checkpoint === undefined || checkpoint.origin !== known[0]?.name)
    return unknown('It is signed, and it is no checkpoint of this log.')
  return heldAgainst(logs, tenant, checkpoint)
}

function heldAgainst(logs: Logs, tenant: string, checkpoint: Checkpoint): CheckpointVerdict {
  const events = plural(checkpoint.size, 'event')
  if (checkpoint.size === 0) return unknown('It covers no event, so that every log continues it: paste a later one.')
  const found = logs.consistency(tenant, checkpoint.size)
  if (!found.ok) {
    return found.code === 'beyond-checkpoint' || found.code === 'no-checkpoint'
      ? altered(
          `It covers ${events}, and the log's last checkpoint covers ${plural(found.size, 'event')}: the log was cut, or restored from an older copy.`,
        )
      : unknown(`It cannot be held against the log (${found.code}).`)
  }
  if (!Buffer.from(found.value.fromRoot).equals(checkpoint.root))
    return altered(
      `It covers ${events}, and the first ${events} of the log have another root now: the log was rewritten.`,
    )
  if (isFork(logs, tenant, checkpoint))
    return altered(
      `It covers ${events}, as the log's last checkpoint does, under the same root, and the two differ in another line: the log signed two histories. Keep both.`,
    )
  return {
    verdict: 'same',
    text: `The log still begins with exactly the ${events} that it covers: none was cut, changed or put in between. ${plural(found.value.to - checkpoint.size, 'event')} came since, by the last checkpoint.`,
  }
}

/** Whether the log has a different checkpoint of that size; only its last one is available for the comparison. */
function isFork(logs: Logs, tenant: string, checkpoint: Checkpoint): boolean {
  const last = logs.checkpoint(tenant)
  const text = last.ok ? parseNote(last.value)?.text : undefined
  return text !== undefined && parseCheckpoint(text)?.size === checkpoint.size && text !== formatCheckpoint(checkpoint)
}

const MESSAGES = {
  'malformed-note': 'It is no signed note: paste the whole file, from its first line to its last.',
  'unknown-key': 'No key of this log signed it: it is of another log, or of another ledger.',
  'invalid-signature': 'Its signature does not fit: the text was changed after it was signed.',
} as const

const unknown = (text: string): CheckpointVerdict => ({ verdict: 'unknown', text })
const altered = (text: string): CheckpointVerdict => ({ verdict: 'altered', text })

/** The current key and the earlier ones. */
function keysOf(logs: Logs, tenant: string): readonly NoteVerifier[] {
  const current = parseVerifierKey(logs.verifierKey(tenant))
  if (current === undefined) return []
  const former = logs.successions().flatMap((note) => readSuccession(note)?.from.key ?? [])
  return [current, ...former.map((key) => noteVerifier(current.name, key))]
}
