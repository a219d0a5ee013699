/** @module `countersign verify BUNDLE.tar`: the same checks as in the `verify.mjs` of this version, with the ledger's keys if available. */
import type { KeyObject } from 'node:crypto'
import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type NoteVerifier, noteVerifier, parseVerifierKey } from '../merkle/note-key.ts'
import { createRunKeys } from '../signing/key-ring.ts'
import { logKeyChain } from '../signing/ledger-keys.ts'
import type { BundleOptions } from '../verify/bundle/options.ts'
import { reportLines } from '../verify/bundle/report-lines.ts'
import type { BundleWord } from '../verify/bundle/verdict.ts'
import { verifyBundle } from '../verify/bundle/verify-bundle.ts'
import { VERDICT_EXIT_CODES } from '../verify/fault.ts'
import type { Arguments } from './arguments.ts'
import { EXIT, usageFailure } from './failure.ts'
import { ownKeys, type ReaderKey, readerKeys, readerPins, unusedKeyFile } from './reader-keys.ts'
import { readRunKeyFile } from './run-key-file.ts'
import { jsonLine } from './shown.ts'
import { painter, VERDICT_COLOURS } from './terminal.ts'
import { judgedStamp, type StampedText, timestampAuthorities } from './verify-timestamp.ts'

const USTAR_AT = 257
const USTAR = 'ustar'

/** Whether a path is a bundle: a tar, or a folder into which one was unpacked. */
export function isBundle(path: string | undefined): path is string {
  if (path === undefined || !existsSync(path)) return false
  if (statSync(path).isDirectory()) return existsSync(join(path, 'manifest.dsse.json'))
  return path.endsWith('.tar') || magicOf(path) === USTAR
}

function magicOf(path: string): string {
  const file = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(USTAR.length)
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, USTAR_AT)).toString('latin1')
  } finally {
    closeSync(file)
  }
}

/** `shown`: the name to print for it, for a copy. */
export async function verifyBundleAt(path: string, args: Arguments, shown = path): Promise<number> {
  const { text } = args
  const keys = bundleKeys(args)
  const witnesses = text('witness')?.split(',')
  const options = {
    ...keys.options,
    ...readerPins(args, 'foreign'),
    checkpoint: textOf(text('checkpoint')),
    ...(witnesses && { witnesses }),
  }
  const authorities = timestampAuthorities(text('timestamp-ca'))
  const stamps: StampedText[] = []
  const onTimestamp = (stamp: StampedText): unknown => stamps.push(stamp)
  const read = verifyBundle(path, { ...options, quorum: quorumOf(text('quorum')), onTimestamp })
  const found = authorities === undefined ? read : await judgedStamp(read, stamps[0], authorities)
  const unused = unusedKeyFile(args.settings, args)
  if (unused !== undefined) found.notes.push(unused)
  if (args.has('json')) process.stdout.write(jsonLine({ source: shown, ...found }))
  else process.stdout.write(`${reportLines(found, { paint: paintWord, keyFrom: keys.from() }).join('\n')}\n`)
  return found.verdict === NOT_AUTHENTICATED ? EXIT.unproven : VERDICT_EXIT_CODES[found.verdict]
}

const NOT_AUTHENTICATED = 'CONSISTENT, NOT AUTHENTICATED'

function paintWord(word: BundleWord): string {
  return painter(process.stdout)(word, word === NOT_AUTHENTICATED ? 'yellow' : VERDICT_COLOURS[word])
}

function textOf(path: string | undefined): string | undefined {
  return path === undefined ? undefined : readFileSync(path, 'utf8')
}

function quorumOf(text: string | undefined): number | undefined {
  if (text !== undefined && !/^[1-9]\d{0,2}$/.test(text))
    throw usageFailure('--quorum takes the number of witnesses that are needed, from 1')
  return text === undefined ? undefined : Number(text)
}

interface BundleKeys {
  readonly options: BundleOptions
  /** Where the key was found; known once the bundle has been read. */
  readonly from: () => string | undefined
}

/** The reader's key of the log that the bundle names; for the reader's own ledger, also the keys of the MACs. */
function bundleKeys(inputs: Arguments): BundleKeys {
  const { text, settings } = inputs
  const find = readerKeys(inputs, 'foreign')
  let used: ReaderKey | undefined
  const key = (bundled: string): string | undefined => {
    const claimed = parseVerifierKey(bundled.trim())
    used = find(claimed?.name ?? UNNAMED, claimed?.keyId)
    return used?.verifier.text
  }
  const runKey = text('run-key')
  const from = (): string | undefined => used?.from
  if (runKey !== undefined) return { options: { key, runKey: readRunKeyFile(runKey) }, from }
  const keys = text('key') === undefined ? ownKeys(settings, 'foreign') : undefined
  if (keys === undefined) return { options: { key }, from }
  const runKeys = createRunKeys(keys.ring)
  const isOwn = (): boolean => used !== undefined && logKeyChain(keys).some((key) => isKeyOf(used?.verifier, key))
  const keyFor: BundleOptions['keyFor'] = ({ kid, tenant, stream }) =>
    isOwn() ? (runKeys.keyFor(kid, tenant, stream) ?? null) : undefined
  return { options: { key, keyFor }, from }
}

function isKeyOf(verifier: NoteVerifier | undefined, key: KeyObject): boolean {
  return verifier !== undefined && verifier.text === noteVerifier(verifier.name, key).text
}

/** Name for a bundle whose key cannot be read: no log has this name. */
const UNNAMED = 'unnamed'
