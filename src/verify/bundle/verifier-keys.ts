/** @module Keys and signatures of the log, all Ed25519. */

import * as crypto from 'node:crypto'
import { SUCCESSIONS } from './bundle-files.ts'
import { type Bundle, jsonOf, textOf } from './file-text.ts'
import { isTime } from './forms.ts'
import { base64, sha256 } from './hashes.ts'
import type { BundleOptions } from './options.ts'
import { plain } from './shown-text.ts'
import { CONSISTENT, type Fail, type Found, Stop } from './verdict.ts'

export interface VerifierKey {
  readonly name: string
  readonly id: string
  readonly text: string
  readonly raw: Buffer
  readonly key: crypto.KeyObject
}

/** That another key signs the log since then; when, where the reader has the succession. */
export interface Followed {
  readonly by: VerifierKey
  readonly time?: string
}

/** The key that a bundle is checked with, and those of the log before and after it. */
export interface LogKey extends VerifierKey {
  readonly former: readonly VerifierKey[]
  /** As the reader knows them, the next one first. */
  readonly later: readonly Followed[]
}

/** Of a text, by a pattern: what is not there makes the digest another one. */
type Parts = readonly [all: string, name: string, id: string, encoded: string]

interface Succession {
  readonly from: VerifierKey
  readonly to: VerifierKey
  readonly time: string
}

/** A verifier key of signed notes: `<name>+<8 hex>+base64(type || 32 bytes)`. Undefined for anything else. */
export function parseKey(line: string, type = 1): VerifierKey | undefined {
  const text = line.trim()
  const [, name, id, encoded = ''] = (/^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(text) ??
    []) as unknown as Parts
  const typed = base64(encoded)
  if (typed?.length !== 33 || typed[0] !== type || plain(name) !== name) return undefined
  if (sha256(`${name}\n`, typed).toString('hex').slice(0, 8) !== id) return undefined
  const raw = typed.subarray(1)
  const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), raw])
  return { name, id, text, raw, key: crypto.createPublicKey({ key: der, format: 'der', type: 'spki' }) }
}

/** The key of these 32 bytes under another name. */
function keyNamed(name: string, raw: Buffer): VerifierKey {
  const typed = Buffer.concat([Buffer.of(1), raw])
  const id = sha256(`${name}\n`, typed).toString('hex').slice(0, 8)
  return parseKey(`${name}+${id}+${typed.toString('base64')}`) as VerifierKey
}

/** DSSE: what is signed is `DSSEv1 <length> <type> <length> <body>`, with which no signed note can begin. */
export function isSigned(type: string, body: Buffer, { key }: Pick<VerifierKey, 'key'>, sig: string): boolean {
  const bytes = base64(sig)
  const signed = Buffer.concat([Buffer.from(`DSSEv1 ${type.length} ${type} ${body.length} `), body])
  return bytes !== undefined && crypto.verify(null, signed, key, bytes)
}

/** The log's key as a JWK set (RFC 8037), under the id that signed notes give it. */
export function jwksText(key: string | VerifierKey): string {
  const { id, raw } = typeof key === 'string' ? (parseKey(key) as VerifierKey) : key
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url'), kid: id, alg: 'EdDSA', use: 'sig' }
  return `${JSON.stringify({ keys: [jwk] }, null, 2)}\n`
}

/**
 * The key that everything is checked with: the reader's, or the one in the bundle that follows it by the word of each key between; or else
 * the one in the bundle alone, which authenticates nothing. `former` are those that it followed.
 */
export function keyOf(bundle: Bundle, options: BundleOptions, found: Found, fail: Fail): LogKey {
  const { key: given } = options
  const own = textOf(bundle, 'verifier-key.txt')
  const named = typeof given === 'function' ? given(own) : given
  const key = parseKey(named ?? own)
  if (key === undefined && named === undefined)
    throw new Stop('TAMPERED', 'other-key', 'verifier-key.txt is no verifier key: it was altered')
  if (key === undefined) throw new Stop('UNVERIFIABLE', 'key', 'the key to verify with is no verifier key')
  found.keyGiven = named !== undefined
  if (!found.keyGiven) fail(CONSISTENT, 'not-authenticated', NOT_AUTHENTICATED)
  const claimed = parseKey(own)
  const former = formerKeys(bundle, claimed, fail)
  if (own === `${key.text}\n`) return { ...key, former, later: laterKeys(key, options) }
  if (own === `${claimed?.text}\n` && former.some(({ text }) => text === key.text)) {
    found.notes.push(
      `the key that you have, ${key.name}+${key.id}, was rotated: by signed notes it leads to ${(claimed as VerifierKey).name}+${(claimed as VerifierKey).id}, which signed this bundle; keep that one from now on`,
    )
    return { ...(claimed as VerifierKey), former, later: laterKeys(claimed as VerifierKey, options) }
  }
  fail(
    'TAMPERED',
    'other-key',
    `verifier-key.txt is not the key of ${key.name} that you have: another log's, or altered; or, if the key of the log was rotated, made before: then give the key of that time`,
  )
  return { ...key, former: [], later: [] }
}

/** Of two successors that a key named, the first counts: nothing that it signed later does, whichever is right. */
function laterKeys(key: VerifierKey, options: BundleOptions): readonly Followed[] {
  const later: Followed[] = []
  for (let next = followerOf(key, options); next !== undefined; next = followerOf(next.by, options)) {
    const { raw } = next.by
    if (key.raw.equals(raw) || later.some(({ by }) => by.raw.equals(raw))) break
    later.push(next)
  }
  return later
}

function followerOf(
  { name, raw }: VerifierKey,
  { pinned = [], successions = [] }: BundleOptions,
): Followed | undefined {
  const origin = name.slice(0, name.lastIndexOf('/'))
  const said = successions.flatMap((note) => successionOf(note) ?? [])
  const own = said.filter(({ from }) => from.name === origin && from.raw.equals(raw))
  const [first] = own.sort((a, b) => (a.time < b.time ? -1 : 1))
  if (first !== undefined) return { by: keyNamed(name, first.to.raw), time: first.time }
  const ofLog = pinned.flatMap((text) => parseKey(text) ?? []).filter((each) => each.name === name)
  const at = ofLog.findLastIndex((each) => each.raw.equals(raw))
  const next = at < 0 ? undefined : ofLog[at + 1]
  return next && { by: next }
}

/** The keys of the log before the one in the bundle, oldest first: each names the next, and the last one the bundle's own. */
function formerKeys(bundle: Bundle, own: VerifierKey | undefined, fail: Fail): readonly VerifierKey[] {
  if (!bundle.files.has(SUCCESSIONS) || own === undefined) return []
  const text = textOf(bundle, SUCCESSIONS)
  const notes = jsonOf<unknown>(text, SUCCESSIONS)
  const said = Array.isArray(notes) && notes.every((note) => typeof note === 'string') ? notes.map(successionOf) : []
  const follows = (each: Succession | undefined, at: number) =>
    each?.to.raw.equals(said[at + 1]?.from.raw ?? own.raw) === true
  const isOfLog = (each: Succession | undefined) => own.name.slice(0, own.name.lastIndexOf('/')) === each?.from.name
  if (said.length > 0 && said.every(follows) && said.every(isOfLog) && text === `${JSON.stringify(notes, null, 2)}\n`)
    return (said as readonly Succession[]).map(({ from: { raw } }) => keyNamed(own.name, raw))
  fail(
    'TAMPERED',
    'succession',
    `${SUCCESSIONS} does not lead to the key in the bundle by the word of each key before it`,
  )
  return []
}

const SUCCESSION_LINE = '# succession '

/** The line of a pinned succession: a comment for readers of keys alone. */
export function successionLineOf(note: string): string {
  return `${SUCCESSION_LINE}${JSON.stringify(note)}`
}

/** The successions among the lines of a file of keys. */
export function successionsIn(lines: readonly string[]): readonly string[] {
  return lines
    .filter((line) => line.startsWith(SUCCESSION_LINE))
    .map((line) => jsonOf<unknown>(line.slice(SUCCESSION_LINE.length), 'a succession in the file of keys'))
    .filter((note) => typeof note === 'string')
}

/** A succession is a signed note of two keys of the ledger, by both of them; undefined for anything else. */
function successionOf(note: string): Succession | undefined {
  const [kind, oldText = '', newText = '', time = '', empty, ...lines] = note.split('\n')
  const [from, to] = [parseKey(oldText), parseKey(newText)]
  const isForm = kind === 'countersign/log-key-succession/v1' && isTime(time) && empty === '' && lines.pop() === ''
  if (!isForm || from === undefined || to === undefined || from.name !== to.name || lines.length !== 2) return undefined
  const text = `${kind}\n${oldText}\n${newText}\n${time}\n`
  const isBy = ({ name, id, key }: VerifierKey, line: string) => {
    const bytes = line.startsWith(`\u2014 ${name} `) ? base64(line.slice(name.length + 3)) : undefined
    return (
      bytes?.subarray(0, 4).toString('hex') === id && crypto.verify(null, Buffer.from(text), key, bytes.subarray(4))
    )
  }
  return isBy(from, lines[0] as string) && isBy(to, lines[1] as string) ? { from, to, time } : undefined
}

const NOT_AUTHENTICATED =
  'checked with the key inside the bundle, which shows that it agrees with itself, not who made it: give the key of the log with --key'
