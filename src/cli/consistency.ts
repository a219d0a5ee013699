/** @module `countersign consistency OLD NEW`: whether two kept checkpoints are of one history, proven by their log in the store or at `--url`. */
import { z } from 'zod'
import { NO_NOTES, openReader } from '../compose/compose-stores.ts'
import { fromBase64 } from '../merkle/base64.ts'
import type { Checkpoint } from '../merkle/checkpoint.ts'
import { CompactTree } from '../merkle/compact-tree.ts'
import { verifyConsistency } from '../merkle/consistency.ts'
import { sameHash } from '../merkle/hashes.ts'
import { isKeyName } from '../merkle/note-key.ts'
import type { StoreReader } from '../store/event-store.ts'
import { claimedOrigin, readLogCheckpoint } from '../verify/checkpoint-check.ts'
import { VERDICT_EXIT_CODES } from '../verify/fault.ts'
import { leavesIn } from '../verify/leaves-in.ts'
import { type JudgedHistory, judgeHistory, type ProvingLog } from '../verify/one-history.ts'
import { type Api, remoteApi } from './api.ts'
import type { Arguments } from './arguments.ts'
import { CliFailure, EXIT, usageFailure } from './failure.ts'
import { lastCheckpoint } from './log-place.ts'
import { type FindReaderKey, keyForNote, readerKeys } from './reader-keys.ts'
import { servedNote } from './served-log.ts'
import { jsonLine, oneLine } from './shown.ts'
import { painter, VERDICT_COLOURS } from './terminal.ts'
import { checkpointAt } from './verify-checkpoint.ts'

export async function consistency(inputs: Arguments): Promise<number> {
  const { positionals, text, has } = inputs
  const findKey = readerKeys(inputs, text('url') === undefined ? 'own-store' : 'foreign')
  const [one, other] = positionals.map((path) => checkpointAt(path, findKey))
  if (one === undefined || other === undefined) throw usageFailure('two files are needed, each with a checkpoint')
  const sizes = [one.checkpoint.size, other.checkpoint.size]
  const judge = (log: ProvingLog): Promise<JudgedHistory> => judgeHistory(one.checkpoint, other.checkpoint, log)
  const judged =
    text('url') === undefined
      ? await overStore(inputs, { tenant: other.tenant, sizes, findKey }, judge)
      : await overUrl(inputs, findKey, judge)
  const { verdict, message } = judged
  const painted = painter(process.stdout)(verdict, VERDICT_COLOURS[verdict])
  const said = { verdict, log: other.checkpoint.origin, sizes, message }
  process.stdout.write(has('json') ? jsonLine(said) : `${painted}  ${oneLine(message)}\n`)
  return VERDICT_EXIT_CODES[verdict]
}

type Judge = (log: ProvingLog) => Promise<JudgedHistory>

/** The tenant is that of the token, and a log of another one proves nothing. */
async function overUrl({ text }: Arguments, findKey: FindReaderKey, judge: Judge): Promise<JudgedHistory> {
  await using api = remoteApi({ text: (name) => (name === 'tenant' ? undefined : text(name)) })
  return await judge({
    rootWithin: (checkpoint, size) => servedRoot(api, checkpoint, size),
    last: async () => {
      const note = await unlessUnproven(() => servedNote(api))
      return note === undefined ? undefined : checkpointIn(note, findKey)
    },
  })
}

const ServedProof = z.object({ fromRootHash: z.string(), proof: z.array(z.string()).max(128) })

/** The root that the ledger states counts only where its proof leads from there to the root that was signed. */
async function servedRoot(
  api: Pick<Api, 'get'>,
  { size: to, root: toRoot }: Checkpoint,
  from: number,
): Promise<Uint8Array | undefined> {
  const answer = await unlessUnproven(() => api.get('/v1/log/proof/consistency', { from, to }))
  const stated = ServedProof.safeParse(answer)
  if (!stated.success) return undefined
  const fromRoot = fromBase64(stated.data.fromRootHash)
  const proof = stated.data.proof.map(fromBase64).filter((hash) => hash !== undefined)
  if (fromRoot === undefined || proof.length < stated.data.proof.length) return undefined
  return verifyConsistency({ from, fromRoot, to, toRoot, proof }) ? fromRoot : undefined
}

/** Undefined if the ledger has no such thing. */
async function unlessUnproven<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof CliFailure && error.exitCode === EXIT.unproven) return undefined
    throw error
  }
}

interface AskedStore {
  readonly tenant: string
  readonly sizes: readonly number[]
  readonly findKey: FindReaderKey
}

async function overStore(
  { settings }: Arguments,
  { tenant, sizes, findKey }: AskedStore,
  judge: Judge,
): Promise<JudgedHistory> {
  let reading: Promise<RootsRead> | undefined
  const read = async (): Promise<RootsRead> => {
    using reader = await openReader(settings.store, NO_NOTES)
    const note = await lastCheckpoint(reader, tenant)
    const last = note === undefined ? undefined : checkpointIn(note, findKey)
    return { last, roots: await rootsOf(reader, tenant, new Set([...sizes, last?.size ?? 0])) }
  }
  const once = (): Promise<RootsRead> => {
    reading ??= read()
    return reading
  }
  return await judge({
    rootWithin: async ({ size: to, root }, from) => {
      const { roots } = await once()
      const signed = roots.get(to)
      return signed !== undefined && sameHash(signed, root) ? roots.get(from) : undefined
    },
    last: async () => (await once()).last,
  })
}

interface RootsRead {
  readonly last: Checkpoint | undefined
  /** Roots of the tenant's log, as its events in the store give them, by size. */
  readonly roots: ReadonlyMap<number, Uint8Array>
}

async function rootsOf(
  reader: StoreReader,
  tenant: string,
  sizes: ReadonlySet<number>,
): Promise<ReadonlyMap<number, Uint8Array>> {
  const tree = new CompactTree()
  const roots = new Map<number, Uint8Array>()
  for await (const [leaf] of leavesIn(reader, tenant)) {
    tree.append(leaf)
    if (sizes.has(tree.size)) roots.set(tree.size, tree.root())
  }
  return roots
}

/** Undefined unless a key of the reader signed it. */
function checkpointIn(note: string, findKey: FindReaderKey): Checkpoint | undefined {
  const origin = claimedOrigin(note)
  const key = isKeyName(origin) ? keyForNote(findKey, origin, note) : undefined
  const read = readLogCheckpoint(note, key === undefined ? [] : [key.verifier])
  return read.ok ? read.checkpoint : undefined
}
