/** @module `countersign verify`: checks every event of a store or an export, offline; the result is one verdict and one exit code. */
import { closeSync, createWriteStream, existsSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { openLogAtRest } from '../compose/log-at-rest.ts'
import { makeReadingFolder } from '../compose/reading-folder.ts'
import { notedLoss } from '../compose/store-held.ts'
import { noteVerifier } from '../merkle/note-key.ts'
import { readSettings, type Settings } from '../settings/config.ts'
import { fixedKeys } from '../settings/key-source.ts'
import { isOnServer, STORE_FILE } from '../settings/places.ts'
import { createRunKeys } from '../signing/key-ring.ts'
import { logKeyChain } from '../signing/ledger-keys.ts'
import type { HeldCheckpoint } from '../verify/checkpoint-check.ts'
import { type ChainPart, judgeChain } from '../verify/export-chain.ts'
import { VERDICT_EXIT_CODES, type Verdict, verdictOf, worse } from '../verify/fault.ts'
import type { VerifyKeys } from '../verify/verify-records.ts'
import { viewFormat } from '../verify/view-export.ts'
import type { Arguments } from './arguments.ts'
import { remoteFile } from './export.ts'
import { CliFailure, EXIT, usageFailure } from './failure.ts'
import { type Progress, startProgress } from './progress.ts'
import { keyFileName, type Origin, ownKeys, readerKeys, unusedKeyFile } from './reader-keys.ts'
import { disclosedKeys, readRunKeyFile } from './run-key-file.ts'
import { oneLine } from './shown.ts'
import { isBundle, verifyBundleAt } from './verify-bundle.ts'
import { checkpointAt, heldAgainst } from './verify-checkpoint.ts'
import { createReport, printChain } from './verify-report.ts'
import { type FoundVerdict, type TargetOptions, type VerifyTarget, verifyTarget } from './verify-target.ts'

export async function verify(inputs: Arguments): Promise<number> {
  const [named, ...others] = inputs.positionals
  if (inputs.text('url') !== undefined && named !== undefined)
    throw usageFailure(`--url verifies what a running ledger has, and ${named} is something else: one at a time`)
  if (others.length > 0) return verifyParts(inputs)
  const url = inputs.text('url')
  if (url === undefined && named !== '-') return verifyAt(named, inputs)
  // Copied first: past an acknowledged loss the source is read a second time, and of a bundle any part is.
  using folder = makeReadingFolder()
  const path = folder.file('copy')
  const source = url === undefined ? process.stdin : servedExport(inputs)
  await pipeline(source, createWriteStream(path, { flags: 'wx', mode: 0o600 }))
  return await verifyAt(path, inputs, url ?? named)
}

/** `shown`: the name to print for it, for a copy. */
async function verifyAt(named: string | undefined, inputs: Arguments, shown?: string): Promise<number> {
  if (isBundle(named)) return verifyBundleAt(named, inputs, shown)
  for (const flag of ['witness', 'quorum', 'timestamp-ca'])
    if (inputs.text(flag) !== undefined)
      throw usageFailure(`--${flag} is about the checkpoint in a bundle; a store or an export has none`)
  if (/^https?:/.test(named ?? '')) throw usageFailure(`${named}: a running ledger is named with --url`)
  const { found, checkpoint } = await verifyOne(named, inputs, { shown })
  if (checkpoint !== undefined && !inputs.has('json')) process.stdout.write(`${heldAgainst(checkpoint)}\n`)
  return VERDICT_EXIT_CODES[found.result.verdict]
}

/** Verifies several files as parts of one log: each separately, then against each other. */
async function verifyParts(inputs: Arguments): Promise<number> {
  for (const flag of ['witness', 'quorum', 'timestamp-ca', 'run-key'])
    if (inputs.text(flag) !== undefined) throw usageFailure(`--${flag} is about one file, and several are named`)
  const parts: ChainPart[] = []
  let verdict: Verdict = 'VERIFIED'
  let checkpoint: HeldCheckpoint | undefined
  for (const name of inputs.positionals) {
    if (name === '-' || isBundle(name) || !['export', 'view'].includes(targetOf(name, inputs).kind))
      throw usageFailure(
        `${name}: of several files each is an export, or a part of one; verify anything else by itself`,
      )
    if (!inputs.has('json')) process.stdout.write(`${oneLine(name)}\n`)
    const verified = await verifyOne(name, inputs, { inChain: true })
    const { result, trailer, completeness } = verified.found
    checkpoint = verified.checkpoint
    verdict = worse(verdict, result.verdict)
    parts.push({ name, trailer, held: completeness?.held })
  }
  const chain = judgeChain(parts, checkpoint)
  for (const { code } of chain?.faults ?? []) verdict = worse(verdict, verdictOf(code))
  if (chain === undefined) verdict = worse(verdict, 'INCOMPLETE')
  printChain({ chain, verdict, parts: parts.length }, inputs.has('json'))
  if (checkpoint !== undefined && !inputs.has('json')) process.stdout.write(`${heldAgainst(checkpoint)}\n`)
  return VERDICT_EXIT_CODES[verdict]
}

interface VerifiedOne {
  readonly found: FoundVerdict
  readonly checkpoint: HeldCheckpoint | undefined
}

/** Verifies one target and prints the result. */
async function verifyOne(
  named: string | undefined,
  inputs: Arguments,
  { shown, ...more }: Pick<TargetOptions, 'inChain'> & { readonly shown?: string | undefined } = {},
): Promise<VerifiedOne> {
  const target = shown === undefined ? targetOf(named, inputs) : copiedTarget(named, inputs)
  if (inputs.text('run-key') !== undefined && target.kind !== 'export')
    throw usageFailure('--run-key checks an export or a bundle of its run; a store is checked with the key file')
  const origin = target.kind === 'store' || target.kind === 'server' ? 'own-store' : 'foreign'
  const keys = keysFor(inputs, target.settings, origin)
  const findKey = readerKeys({ ...inputs, settings: target.settings }, origin)
  const checkpoint = checkpointAt(inputs.text('checkpoint'), findKey)
  let progress: Progress | undefined
  const report = createReport(inputs.has('json'), () => progress?.end())
  const startedMs = performance.now()
  const found = await verifyTarget(target, {
    depth: inputs.has('fast') ? 'fast' : 'full',
    ...(keys !== undefined && { keys }),
    ...(checkpoint && { checkpoint }),
    ...more,
    findKey,
    ...besideStore(target.settings, origin),
    ...threadsWanted(inputs),
    onOpen: (total) => {
      progress = startProgress({ unit: 'events', total })
    },
    onFault: (fault) => report.fault(fault),
    onProgress: (events) => progress?.report(events),
  })
  progress?.end()
  const unused = origin === 'foreign' ? unusedKeyFile(target.settings, inputs) : undefined
  report.finish({
    source: shown ?? target.name,
    ...found,
    ...(keys !== undefined && { keys: inputs.text('run-key') ?? keyFileName(target.settings) }),
    ...(unused !== undefined && { unused }),
    elapsedMs: performance.now() - startedMs,
  })
  return { found, checkpoint }
}

/** Only with the ledger's own keys can its log file and its note of losses be authenticated. */
function besideStore(settings: Settings, origin: Origin): Pick<TargetOptions, 'logIn' | 'noted'> {
  const keys = origin === 'own-store' ? ownKeys(settings, origin) : undefined
  if (keys === undefined) return {}
  return { logIn: (folder) => openLogAtRest(folder, keys), noted: notedLoss(settings, fixedKeys(keys)) }
}

function threadsWanted({ text }: Arguments): Pick<TargetOptions, 'threads'> {
  const wanted = text('threads')
  if (wanted === undefined) return {}
  if (!/^[0-9]{1,2}$/.test(wanted)) throw usageFailure('--threads takes a whole number, 0 to 99')
  return { threads: { count: Number(wanted) } }
}

type NamedTarget = VerifyTarget & { readonly settings: Settings }

/** Default: a store. A named target is a store if it is a folder, a URL or an SQLite file, and an export if it begins like one. */
function targetOf(named: string | undefined, inputs: Arguments): NamedTarget {
  const { settings, text } = inputs
  const flags = { data: text('data'), keys: text('keys'), 'known-keys': text('known-keys'), store: named }
  const own = named === undefined ? settings : readSettings(flags, process.env)
  if (own.store.kind === 'memory')
    throw new CliFailure('a store in memory holds nothing to verify afterwards', EXIT.usage)

  if (isOnServer(own.store)) {
    const server = own.store
    return {
      kind: 'server',
      name: server.url.replace(/\/\/[^@/]*@/, '//'),
      server,
      keptBeside: join(own.data, STORE_FILE),
      settings: own,
    }
  }

  const { path } = own.store
  if (!existsSync(path))
    throw new CliFailure(`there is no store or export at ${path}: name one, or its folder with --data`, EXIT.usage)
  const format = viewFormat(beginningOf(path))
  if (format !== undefined) return { kind: 'view', name: path, format, settings }
  return looksLikeExport(path) ? { kind: 'export', name: path, settings } : { kind: 'store', name: path, settings: own }
}

/** Never a store: nothing lies beside a copy. */
function copiedTarget(name: string | undefined, { settings }: Arguments): NamedTarget {
  const path = name ?? ''
  const format = viewFormat(beginningOf(path))
  return format === undefined
    ? { kind: 'export', name: path, settings }
    : { kind: 'view', name: path, format, settings }
}

/** The whole log of the tenant of the token, which a running ledger records as an export. */
function servedExport(inputs: Arguments): AsyncIterable<Uint8Array> {
  const text = (name: string): string | undefined => (name === 'tenant' ? undefined : inputs.text(name))
  return remoteFile({ ...inputs, text }, '/v1/export?format=jsonl')
}

const SNIFFED_BYTES = 64

function looksLikeExport(path: string): boolean {
  return path.endsWith('.jsonl') || beginningOf(path).startsWith('{')
}

function beginningOf(path: string): string {
  const file = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(SNIFFED_BYTES)
    return bytes.subarray(0, readSync(file, bytes)).toString('latin1')
  } finally {
    closeSync(file)
  }
}

/** Without a key file, only links and digests are checked; a key file that was named must exist. */
function keysFor({ text }: Arguments, settings: Settings, origin: Origin): VerifyKeys | undefined {
  const runKey = text('run-key')
  if (runKey !== undefined) return disclosedKeys(readRunKeyFile(runKey))
  const keys = ownKeys(settings, origin)
  if (keys === undefined) return undefined
  const chain = logKeyChain(keys)
  return {
    ring: keys.ring,
    runKeys: createRunKeys(keys.ring),
    verifierKeys: (name) => chain.map((key) => noteVerifier(name, key).text),
  }
}
