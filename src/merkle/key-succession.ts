/**
 * @module The succession of a log's keys: a signed note in which the old key names the new one, and the new one its predecessor. Whoever
 * trusts a key can go from it to the one in use now, by signatures alone. One statement is for all logs of a ledger.
 */
import type { KeyObject } from 'node:crypto'
import { type NoteVerifier, noteSigner, noteVerifier, parseVerifierKey } from './note-key.ts'
import { openNote, signNote } from './signed-note.ts'

/** First line of the text; no checkpoint can be read in it, since its second line is a key and not a size. */
const KIND = 'countersign/log-key-succession/v1'
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

export interface KeySuccession {
  /** Prefix of the names of the ledger's logs: each log is `<origin>/<tenant>`. */
  readonly origin: string
  /** Both under `origin`. */
  readonly from: NoteVerifier
  readonly to: NoteVerifier
  /** When it was signed, by the clock of whoever signed it: RFC 3339, UTC. */
  readonly time: string
}

interface Rotation {
  readonly origin: string
  /** Private halves: the old key says who follows, the new one that it agrees. */
  readonly from: KeyObject
  readonly to: KeyObject
  readonly time: string
}

/** The signed note of a succession. Throws `TypeError` for an origin that names no key, or a time in another form. */
export function signSuccession({ origin, from, to, time }: Rotation): string {
  const [old, successor] = [noteSigner(origin, from), noteSigner(origin, to)]
  const note = signNote(textOf(old.verifier, successor.verifier, time), [old, successor])
  if (readSuccession(note) === undefined) throw new TypeError('not a succession of two keys')
  return note
}

function textOf(from: NoteVerifier, to: NoteVerifier, time: string): string {
  return `${KIND}\n${from.text}\n${to.text}\n${time}\n`
}

/** What a note says; undefined where it is no succession, or not signed by both of the keys that it names. */
export function readSuccession(note: string): KeySuccession | undefined {
  const [kind, oldText = '', newText = '', time = ''] = note.split('\n', 4)
  const [from, to] = [parseVerifierKey(oldText), parseVerifierKey(newText)]
  if (kind !== KIND || from === undefined || to === undefined || from.name !== to.name || !TIME.test(time))
    return undefined
  if (from.keyId === to.keyId) return undefined
  const opened = openNote(note, [from, to])
  if (!opened.ok || opened.signers.length !== 2 || opened.text !== textOf(from, to, time)) return undefined
  return { origin: from.name, from, to, time }
}

/**
 * The keys of one log from a trusted one on, oldest first: the trusted key itself, then each that follows by a succession among `notes`,
 * in whatever order those are. Two successors of one key cannot both be right: the chain ends before them.
 */
export function successorsOf(trusted: NoteVerifier, notes: readonly string[]): readonly NoteVerifier[] {
  const read = notes.flatMap((note) => readSuccession(note) ?? [])
  const chain = [trusted]
  const known = new Set([trusted.keyId])
  for (let last = trusted; ; ) {
    const next = nextAfter(last, read)
    if (next === undefined || known.has(next.keyId)) return chain
    chain.push(next)
    known.add(next.keyId)
    last = next
  }
}

function nextAfter({ name, type, keyId }: NoteVerifier, read: readonly KeySuccession[]): NoteVerifier | undefined {
  const origin = name.slice(0, Math.max(name.lastIndexOf('/'), 0))
  const ofThis = read.filter(
    (each) => each.origin === origin && noteVerifier(name, each.from.key, type).keyId === keyId,
  )
  const followers = new Map(ofThis.map(({ to }) => [to.keyId, to]))
  const [only] = followers.values()
  return followers.size === 1 && only !== undefined ? noteVerifier(name, only.key) : undefined
}
