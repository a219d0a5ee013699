/** @module `countersign verify BUNDLE.tar`: what the bundle's own `verify.mjs` says, with the ledger's keys where they are at hand. */
import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type BundleOptions, type BundleVerdict, verifyBundle } from '../export/bundle/verifier.ts'
import { readKeys } from '../key-source.ts'
import { noteVerifier, parseVerifierKey } from '../merkle/note-key.ts'
import { createRunKeys } from '../signing/key-ring.ts'
import type { LedgerKeys } from '../signing/ledger-keys.ts'
import { VERDICT_EXIT_CODES, type Verdict } from '../verify/fault.ts'
import type { Arguments } from './arguments.ts'
import { oneLine, usageFailure } from './failure.ts'
import { readRunKeyFile } from './run-key-file.ts'
import { painter, VERDICT_COLOURS } from './terminal.ts'

const SHOWN_MAX = 100
const USTAR_AT = 257
const USTAR = 'ustar'

/** Whether a path is a bundle: a tar, or a folder that one was unpacked to. */
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

export function verifyBundleAt(path: string, given: Arguments): number {
  const { text } = given
  const found = verifyBundle(path, { ...keyOptions(given), checkpoint: kept(text('checkpoint')) })
  process.stdout.write(
    given.has('json') ? `${JSON.stringify({ source: path, ...found })}\n` : `${lines(found).join('\n')}\n`,
  )
  return VERDICT_EXIT_CODES[found.verdict]
}

function kept(path: string | undefined): string | undefined {
  return path === undefined ? undefined : readFileSync(path, 'utf8')
}

/**
 * The key that was named, else the key file's. A key file that merely lies in the data folder is used for the bundles of its own ledger
 * alone: it says nothing of others.
 */
function keyOptions({ text, settings }: Arguments): BundleOptions {
  const runKey = text('run-key') === undefined ? {} : { runKey: readRunKeyFile(text('run-key') ?? '') }
  const named = text('verifier-key')
  if (named !== undefined) {
    if (parseVerifierKey(named) === undefined) throw usageFailure('--verifier-key is no verifier key')
    return { key: named, ...runKey }
  }
  const explicit = text('keys') !== undefined || (process.env.COUNTERSIGN_KEYS ?? '') !== ''
  const keys = readKeys(settings.keys)
  if (keys === undefined) {
    if (explicit) throw usageFailure(`there is no key file ${text('keys')}`)
    return runKey
  }
  let isOwn = false
  const key = (bundled: string): string | undefined => {
    const own = ownKey(keys, bundled)
    isOwn = own === bundled.trim()
    return isOwn || explicit ? own : undefined
  }
  const runKeys = createRunKeys(keys.ring)
  const keyFor: BundleOptions['keyFor'] = ({ kid, tenant, stream }) =>
    isOwn ? (runKeys.keyFor(kid, tenant, stream) ?? null) : undefined
  return { key, ...runKey, ...(text('run-key') === undefined && { keyFor }) }
}

/** What the key file's key is called under the name that the bundle claims. */
function ownKey({ checkpointKey }: LedgerKeys, bundled: string): string | undefined {
  const claimed = parseVerifierKey(bundled.trim())
  return claimed === undefined ? undefined : noteVerifier(claimed.name, checkpointKey).text
}

function lines({ verdict, faults, notes, events, matching, leaves, keyGiven }: BundleVerdict): readonly string[] {
  const paint = painter(process.stdout)
  const word = (of: Verdict) => paint(of, VERDICT_COLOURS[of])
  const shown = faults
    .slice(0, SHOWN_MAX)
    .map((fault) => [word(fault.verdict), fault.code, oneLine(fault.message)].join('  '))
  const more = faults.length > SHOWN_MAX ? [`... and ${faults.length - SHOWN_MAX} more (--json lists up to 1000)`] : []
  const own = verdict === 'VERIFIED' && keyGiven !== true ? ' in itself' : ''
  const counts = `${events} events, ${matching} of them answer the query, held against all ${leaves} of the log`
  return [...shown, ...more, `${word(verdict)}${own}  ${counts}`, ...notes.map((note) => `note: ${note}`)]
}
