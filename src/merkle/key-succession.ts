/**
 * @module Succession of a log's keys: a signed note in which the old key names the new one, and the new key its predecessor. A client that trusts one key can
 * follow the signatures to the current one. One statement applies to all logs of a ledger.
 */
import type { KeyObject } from 'node:crypto'
import { type NoteVerifier, noteSigner, noteVerifier, parseVerifierKey } from './note-key.ts'
import { openNote, signNote } from './signed-note.ts'

/** First line of the text; the text cannot be parsed as a checkpoint, since its second line is a key and not a size. */
const KIND = 'countersign/log-key-succession/v1'
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

export interface KeySuccession {
  /** Prefix of the names of the ledger's logs: each log is `<origin>/<tenant>`. */
  readonly origin: string
  /** Both keys are named `origin`. */
  readonly from: NoteVerifier
  readonly to: NoteVerifier
  /** Time of the signature, by the signer's clock: RFC 3339, UTC. */
  readonly time: string
}

interface Rotation {
  readonly origin: string
  /** Private keys: the old key names its successor, and the new key confirms it. */
  readonly from: KeyObject
  readonly to: KeyObject
  readonly time: string
}

/** The signed note of a succession. Throws `TypeError` for an origin that is no valid key name, or a time in another form. */
export function signSuccession({ origin, from, to, time }: Rotation): string {
  const [old, successor] = [noteSigner(origin, from), noteSigner(origin, to)]
  const note = signNote(textOf(old.verifier, successor.verifier, time), [old, successor])
  if (readSuccession(note) === undefined) throw new TypeError('not a succession of two keys')
  return note
}

function textOf(from: NoteVerifier, to: NoteVerifier, time: string): string {
  return `${KIND}\n${from.text}\n${to.text}\n${time}\n`
}

/** Parses a note; undefined if it is no succession, or is not signed by both of the keys that it names. */
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
 * The keys of one log, starting with a trusted one, oldest first: the trusted key, then each successor by the successions in `notes`, whose order is
 * irrelevant. If a key has two successors, at most one is right: the chain ends at that key.
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
