/** @module `countersign keys create|list|rotate`: creates the first keys of a shared store, lists keys without their secrets, and rotates them. */
import { type KeyObject, randomBytes } from 'node:crypto'
import { closeSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { readIdentity } from '../compose/compose.ts'
import { signSuccession } from '../merkle/key-succession.ts'
import { noteVerifier } from '../merkle/note-key.ts'
import type { Settings } from '../settings/config.ts'
import { requireKeys, wrappingOf } from '../settings/key-source.ts'
import { toBase64url } from '../signing/base64url.ts'
import { makeFolder } from '../signing/durable-file.ts'
import { createLedgerKeys, readKeyFile, replaceKeyFile, verifierKey, writeNewKeyFile } from '../signing/key-file.ts'
import { currentKey, rotateKeyRing } from '../signing/key-ring.ts'
import {
  ed25519PublicBytes,
  type LedgerKeys,
  logKeyChain,
  rotateLogKey,
  rotateTokenKeys,
} from '../signing/ledger-keys.ts'
import type { KeyWrapping } from '../signing/wrapped-keys.ts'
import type { Arguments } from './arguments.ts'
import { CliFailure, EXIT, usageFailure } from './failure.ts'
import { tenantOf } from './log-place.ts'
import { servedKeys } from './served-log.ts'
import { jsonLine } from './shown.ts'

/** For a store on a server that several processes share: each process gets a copy of the same file. The keys of a file store are created automatically. */
export function createKeys({ settings: { keys: place }, has }: Arguments): number {
  if (place.kind === 'text') throw new CliFailure('COUNTERSIGN_KEYS holds keys already')
  makeFolder(dirname(place.path))
  writeNewKeyFile(place.path, createLedgerKeys(new Date().toISOString(), randomBytes), wrappingOf(place))
  process.stdout.write(has('json') ? jsonLine({ file: place.path }) : `${place.path}\n`)
  return EXIT.ok
}

/** Encrypts the key file under the key of the program of `--keys exec:COMMAND`. */
export function wrapKeys({ settings, has }: Arguments): number {
  const { path, wrapping } = wrappedPlace(settings)
  using _ = exclusively(path)
  replaceKeyFile(path, readKeyFile(path), wrapping)
  process.stdout.write(has('json') ? jsonLine({ file: path, wrapped: true }) : `${path}\n`)
  process.stderr.write(`${WRAPPED}\n`)
  return EXIT.ok
}

/** Decrypts the key file for good: it is readable without the program again. */
export function unwrapKeys({ settings, has }: Arguments): number {
  const { path, wrapping } = wrappedPlace(settings)
  using _ = exclusively(path)
  replaceKeyFile(path, readKeyFile(path, wrapping))
  process.stdout.write(has('json') ? jsonLine({ file: path, wrapped: false }) : `${path}\n`)
  return EXIT.ok
}

const WRAPPED =
  'start every process of this ledger with the same --keys from now on; copies of the file from before are not encrypted: destroy them'

function wrappedPlace({ keys }: Settings): { readonly path: string; readonly wrapping: KeyWrapping } {
  const wrapping = keys.kind === 'file' ? wrappingOf(keys) : undefined
  if (keys.kind === 'file' && wrapping !== undefined) return { path: keys.path, wrapping }
  throw usageFailure('name the program that keeps the key: --keys exec:COMMAND')
}

interface ListedKey {
  readonly kid: string
  readonly use: 'seal' | 'token'
  readonly created: string
  readonly retired?: string
  /** Whether the key is in use now. */
  readonly current: boolean
}

export async function listKeys(args: Arguments): Promise<number> {
  const { settings, text: flag, has } = args
  if (flag('url') !== undefined) return await servedKeys(args)
  const tenant = tenantOf(flag('tenant'))
  const ledgerKeys = requireKeys(settings.keys)
  const identity = await readIdentity(settings)
  const publicKey = ed25519PublicBytes(ledgerKeys.checkpointKey)
  // Checkpoints are signed under the name of the tenant's log; the founding event names the same key under the origin alone.
  const verifier = identity && verifierKey(identity.origin, publicKey)
  const logKey = identity && verifierKey(`${identity.origin}/${tenant}`, publicKey)
  const listed = listedKeys(ledgerKeys)
  const text = has('json')
    ? JSON.stringify({
        keys: listed,
        checkpointKey: toBase64url(publicKey),
        verifierKey: verifier ?? null,
        logKey: logKey ?? null,
      })
    : [...listed.map(asLine), `log of ${tenant}: verifier key  ${logKey ?? 'known after the first start'}`].join('\n')
  process.stdout.write(`${text}\n`)
  return EXIT.ok
}

function listedKeys({ ring, tokenKeys }: LedgerKeys): readonly ListedKey[] {
  const sealing = currentKey(ring).kid
  const signing = tokenKeys.findLast((key) => key.retired === undefined)?.kid
  return [
    ...ring.keys.map((key) => listedKey(key, 'seal', sealing)),
    ...tokenKeys.map((key) => listedKey(key, 'token', signing)),
  ]
}

/** Copies field by field: a spread would include the secret. */
function listedKey(
  { kid, created, retired }: { readonly kid: string; readonly created: string; readonly retired?: string },
  use: ListedKey['use'],
  current: string | undefined,
): ListedKey {
  return { kid, use, created, ...(retired !== undefined && { retired }), current: kid === current }
}

function asLine({ kid, use, created, retired, current }: ListedKey): string {
  const job = use === 'seal' ? 'seals events' : 'signs tokens'
  const state = current ? job : retired === undefined ? 'in reserve' : `retired ${retired}`
  return `${kid.padEnd(14)}${use.padEnd(7)}created ${created}  ${state}`
}

/** `ring` seals events, `tokens` signs tokens, `log` signs the logs. */
type Rotated = 'ring' | 'tokens' | 'log'

export async function rotateKeys({ settings, has }: Arguments): Promise<number> {
  const { keys: place } = settings
  if (has('tokens') && has('log')) throw usageFailure('one key at a time: --tokens or --log')
  const what: Rotated = has('tokens') ? 'tokens' : has('log') ? 'log' : 'ring'
  if (place.kind === 'text') {
    throw new CliFailure('the keys come from COUNTERSIGN_KEYS: rotate them in the key file that they were taken from')
  }
  // Missing keys are reported before a lock is created next to them.
  requireKeys(place)
  using _ = exclusively(place.path)
  const before = requireKeys(place)
  const now = new Date().toISOString()
  const origin = what === 'log' ? await originUnder(settings, before) : ''
  const after = rotatedKeys(before, { what, now, origin })
  replaceKeyFile(place.path, after, wrappingOf(place))
  const key = what === 'log' ? noteVerifier(origin, after.checkpointKey).text : undefined
  const kid = key ?? (what === 'ring' ? currentKey(after.ring).kid : after.tokenKeys.at(-1)?.kid)
  process.stdout.write(has('json') ? jsonLine({ kid: kid ?? null, use: USES[what] }) : `${kid}\n`)
  process.stderr.write(`${ROTATED[what]}\n`)
  return EXIT.ok
}

const USES = { ring: 'seal', tokens: 'token', log: 'log' } as const

const ROTATED: Readonly<Record<Rotated, string>> = {
  ring: 'the new key is in the key file: a running ledger takes it up within seconds; copy the file to where you keep its backup',
  tokens: 'tokens made before are refused from now on',
  log:
    'the new key is in the key file, under the signature of the old one, whose private half is gone: a running ledger takes it up within seconds; ' +
    'copy the file to its backup and to every process of this ledger, and give auditors and witnesses the new verifier key ("countersign checkpoint --key") with what "countersign checkpoint --successions" prints',
}

function rotatedKeys(
  before: LedgerKeys,
  { what, now, origin }: { readonly what: Rotated; readonly now: string; readonly origin: string },
): LedgerKeys {
  if (what === 'ring') return { ...before, ring: rotateKeyRing(before.ring, now, randomBytes) }
  if (what === 'tokens') return rotateTokenKeys(before, now, randomBytes)
  const succession = (from: KeyObject, to: KeyObject): string => signSuccession({ origin, from, to, time: now })
  return rotateLogKey(before, { now, random: randomBytes, succession })
}

/** The origin of the ledger that these keys founded, for which the succession is signed. Throws `CliFailure` if they founded none. */
async function originUnder(settings: Settings, keys: LedgerKeys): Promise<string> {
  const identity = await readIdentity(settings)
  if (identity === undefined)
    throw new CliFailure(
      'there is no ledger in this store yet, and so nothing that the key of the log has signed: start it first',
    )
  const [first] = logKeyChain(keys)
  if (first === undefined || noteVerifier(identity.origin, first).text !== identity.verifierKey)
    throw new CliFailure('these keys did not found the ledger in this store: name the key file that belongs to it')
  return identity.origin
}

/** Two concurrent rotations would each drop the other's key, which may already have sealed events. */
function exclusively(path: string): Disposable {
  const lock = `${path}.rotating`
  try {
    closeSync(openSync(lock, 'wx', 0o600))
  } catch (error) {
    const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST'
    if (!exists) throw error
    throw new CliFailure(`another rotation is at work; if none is, one was cut off: remove ${lock} and try again`)
  }
  return { [Symbol.dispose]: () => rmSync(lock, { force: true }) }
}
