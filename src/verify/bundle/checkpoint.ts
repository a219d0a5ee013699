/** @module The checkpoint: a signed note (C2SP) of size and root of the log, and the witnesses that cosigned it. */

import * as crypto from 'node:crypto'
import { base64, HASH_BYTES, type TreeHead } from './hashes.ts'
import type { BundleOptions } from './options.ts'
import { type Fail, type FaultWord, type Found, Stop } from './verdict.ts'
import { type LogKey, parseKey, type VerifierKey } from './verifier-keys.ts'

interface NoteSignature {
  readonly signer: string
  readonly keyId: string
  readonly signature: Buffer
}

/** What a log says of its first `size` events. */
export interface SignedHead extends TreeHead {
  /** Which one it is, in words. */
  readonly what: string
  readonly text: string
  /** Root of the tree of streams. */
  readonly streams: Buffer | undefined
}

export interface Checkpoint extends SignedHead {
  readonly signatures: readonly NoteSignature[]
  readonly tenant: string
}

interface WitnessesNeeded extends Pick<BundleOptions, 'witnesses' | 'quorum'> {
  readonly logKey: VerifierKey
}

/** A signed note: a text, an empty line, and lines of em dash, name, base64(4 bytes of key id || signature). `otherwise`: the verdict on anything else. */
export function openCheckpoint(
  note: string,
  { name, id, key }: VerifierKey,
  what: string,
  otherwise: FaultWord = 'TAMPERED',
): Checkpoint {
  const border = note.lastIndexOf('\n\n')
  const text = note.slice(0, border + 1)
  const lines = note.slice(border + 2).split('\n')
  const signatures = lines.slice(0, -1).map((line): NoteSignature => {
    const [, signer, encoded = ''] = /^\u2014 (\S+) ([A-Za-z0-9+/]+={0,2})$/.exec(line) ?? []
    const bytes = base64(encoded)
    return { signer, keyId: bytes?.subarray(0, 4).toString('hex'), signature: bytes?.subarray(4) } as NoteSignature
  })
  const isNote = border > 0 && lines.at(-1) === '' && signatures.every(({ signature }) => signature?.length > 0)
  const ours = signatures.filter(({ signer, keyId }) => signer === name && keyId === id)
  const isOurs = ours.length === 1 && crypto.verify(null, Buffer.from(text), key, (ours[0] as NoteSignature).signature)
  const [origin, size, root = '', ...more] = text.slice(0, -1).split('\n')
  const hash = base64(root)
  const isCheckpoint =
    origin === name && /^(0|[1-9]\d{0,15})$/.test(size as string) && hash?.length === HASH_BYTES && !more.includes('')
  if (!isNote || !isOurs || !isCheckpoint)
    throw new Stop(otherwise, 'checkpoint', `${what} is not signed with the key of ${name}: altered, or another log's`)
  const tenant = origin.slice(origin.lastIndexOf('/') + 1)
  return { what, text, signatures, tenant, size: Number(size), root: hash, streams: streamsOf(more) }
}

/** What was kept may be of the time of another key. */
export function signerOf(note: string, key: LogKey): VerifierKey {
  const signers = [key, ...key.former, ...key.later.map(({ by }) => by)]
  const signed = note.split('\n').map((line) => line.match(/^\u2014 \S+ (\S+)$/)?.[1] ?? '')
  const ids = signed.map((encoded) => Buffer.from(encoded, 'base64').toString('hex', 0, 4))
  return signers.find(({ id }) => ids.includes(id)) ?? key
}

/** A log signs one text of each size: two that differ in any byte, in a line beside size and root as well, are two histories. */
export function checkForks(heads: readonly SignedHead[], fail: Fail): void {
  for (const [at, one] of heads.entries())
    for (const other of heads.slice(at + 1))
      if (one.size === other.size && one.text !== other.text)
        fail(
          'TAMPERED',
          'fork',
          `${one.what} and ${other.what} both cover ${one.size} events and differ: the log signed two histories; keep both as evidence`,
        )
}

/** The root of the tree of streams: one extension line of a checkpoint names it. */
export function streamsOf(lines: readonly string[]): Buffer | undefined {
  const named = lines.filter((line) => line.startsWith('streams/v1 '))
  const root = named.length === 1 ? base64((named[0] as string).slice('streams/v1 '.length)) : undefined
  return root?.length === HASH_BYTES ? root : undefined
}

/**
 * Cosignatures (C2SP tlog-cosignature): a witness signs the checkpoint's text with its time before it. It counts once, whatever number of
 * names or keys it goes by; the log is no witness of itself.
 */
export function checkWitnesses(
  { text, signatures }: Checkpoint,
  { witnesses = [], quorum = witnesses.length, logKey }: WitnessesNeeded,
  found: Found,
  fail: Fail,
): void {
  for (const line of new Set(witnesses)) {
    const witness = parseKey(line, 4)
    if (witness === undefined)
      throw new Stop('UNVERIFIABLE', 'witness-key', 'the witness key is no verifier key of a witness')
    if (witness.raw.equals(logKey.raw))
      throw new Stop('UNVERIFIABLE', 'witness-key', `the key of the witness ${witness.name} is the key of the log`)
    for (const { signer, keyId, signature } of signatures) {
      if (signer !== witness.name || keyId !== witness.id) continue
      const seconds = signature.length === 72 ? Number(signature.readBigUInt64BE(0)) : undefined
      const cosigned = Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`)
      if (!Number.isSafeInteger(seconds) || !crypto.verify(null, cosigned, witness.key, signature.subarray(8)))
        fail('TAMPERED', 'cosignature', `the cosignature of ${witness.name} does not fit the checkpoint`)
      else if (
        !found.witnesses.some(
          ({ name, key }) => name === witness.name || (parseKey(key, 4) as VerifierKey).raw.equals(witness.raw),
        )
      )
        found.witnesses.push({ name: witness.name, key: witness.text, seconds } as Found['witnesses'][number])
    }
  }
  const met = found.witnesses.length
  // Also where the quorum is no number.
  if (!(met >= quorum))
    fail('UNVERIFIABLE', 'quorum', `${met} of your witnesses have cosigned the checkpoint, ${quorum} are needed`)
}
