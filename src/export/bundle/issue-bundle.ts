/** @module A bundle from asking to its last byte, on record like every export. */
import { createHash, type Hash, randomUUID } from 'node:crypto'
import type { EventQuery } from '../../../schemas/event-query.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { refusal } from '../../domain/refusal.ts'
import type { Caller, Ledger } from '../../ledger/ledger.ts'
import { type Refused, refusedBy } from '../export-refusal.ts'
import { orUnbegun } from '../or-unbegun.ts'
import { unprovableMember } from './bundle-query.ts'
import { type BundleRequest, planBundle } from './plan-bundle.ts'
import type { BundleProof } from './statement.ts'
import { tarChunks } from './write-tar.ts'

export const BUNDLE_CONTENT_TYPE = 'application/x-tar'
const FORMAT = 'bundle'

export interface PreparedBundle {
  /** To be awaited before the first byte leaves. Throws `StoreUnavailableError`. */
  readonly start: () => Promise<void>
  /** The tar. Throws what reading the store throws, and the signal's reason at the next page: then it has no end. */
  readonly chunks: (signal?: AbortSignal) => AsyncGenerator<Uint8Array, void>
}

export type Bundled = { readonly ok: true; readonly value: PreparedBundle } | Refused

export interface BundleOptions {
  /** `stream`, the default for a run: the tree of streams that the checkpoint names. `log`: the headers of the whole log. */
  readonly proof?: BundleProof | undefined
  /** Bring along the large values that the events name. */
  readonly values?: boolean | undefined
}

/** Signs a checkpoint over what the log holds now, and plans the bundle on it. */
export async function prepareBundle(
  ledger: Ledger,
  caller: Caller,
  query: EventQuery,
  { proof = query.run === undefined ? 'log' : 'stream', values = false }: BundleOptions = {},
): Promise<Bundled> {
  // A bundle holds the headers of the whole log: a token that is good for one run or one agent must not read them.
  if (caller.run !== undefined || caller.agent !== undefined) return refusedBy(BOUND)
  const member = unprovableMember(query)
  if (member !== undefined) return { ok: false, code: 'invalid-query', detail: `${member} ${UNPROVABLE}` }
  if (query.run !== undefined) {
    const found = await ledger.run(caller, query.run)
    if (!found.ok) return refusedBy(found.refusal)
  }
  if (proof === 'stream' && query.run === undefined) return { ok: false, code: 'invalid-query', detail: NO_RUN }
  const pinned = await pinnedFor(ledger, caller, proof === 'stream' ? query.run : undefined)
  if (pinned === undefined) return { ok: false, code: 'not-found', detail: NO_CHECKPOINT }
  const request: BundleRequest = { ledger, caller, query, values, ...pinned, exportId: randomUUID() }
  const chunks = (signal?: AbortSignal) => chunksOf({ ...request, ...(signal && { signal }) })
  return { ok: true, value: { start: () => recordStart(request), chunks } }
}

const PIN_TRIES = 3

/**
 * A checkpoint that was signed meanwhile is another tree of streams: then the newer one is taken. Where none says what it takes, as after the
 * logs' file was rebuilt, the whole log does.
 */
async function pinnedFor(
  ledger: Ledger,
  caller: Caller,
  runId: string | undefined,
): Promise<Pick<BundleRequest, 'pin' | 'stream'> | undefined> {
  for (let tries = 1; ; tries += 1) {
    const pin = await ledger.exports.sealedPin(caller)
    if (pin === undefined) return undefined
    const stream = runId === undefined ? undefined : await ledger.exports.streamPath(caller, runId, pin)
    if (stream !== undefined || runId === undefined || tries === PIN_TRIES) return { pin, stream }
  }
}

const NO_RUN = 'proof: the tree of streams shows that one run is whole: name it with run, or ask for proof=log'
const BOUND = refusal(
  'run-mismatch',
  "a bundle holds the headers of the tenant's whole log, and this token is bound to one run or agent",
)
const UNPROVABLE =
  'is answered by the index of the ledger alone, and a bundle proves what it leaves out: take it away here, or export in a line format'
const NO_CHECKPOINT =
  'there is nothing that a checkpoint covers: the log is empty or has stopped; run "countersign verify" if it holds events'

async function recordStart(request: BundleRequest): Promise<void> {
  await request.ledger.exports.record(request.caller, { type: 'ExportStarted', data: exportedPart(request) })
}

function exportedPart({ exportId, query: { run, ...filter }, pin }: BundleRequest) {
  return {
    v: 1 as const,
    exportId,
    format: FORMAT,
    ...(run !== undefined && { run }),
    ...(Object.keys(filter).length > 0 && { filter: filter as JsonObject }),
    asOf: pin.tree.eventId,
    treeSize: pin.tree.size,
    root: pin.tree.root,
  }
}

/** The last portion is held back until the issue is on record: a bundle that is whole is one that was recorded. */
function chunksOf(request: BundleRequest): AsyncGenerator<Uint8Array, void> {
  const made: Made = { events: 0, bytes: 0, hash: createHash('sha256') }
  return orUnbegun(tarOf(request, made), () => recordCut(request, made))
}

/** So far. */
interface Made {
  events: number
  bytes: number
  readonly hash: Hash
}

function recordIssue(request: BundleRequest, outcome: 'complete' | 'cut', made: Made): Promise<void> {
  const { events, bytes, hash } = made
  const counts = { outcome, events, bytes, digest: `sha256:${hash.copy().digest('hex')}` }
  const data = { ...exportedPart(request), ...counts }
  return request.ledger.exports.record(request.caller, { type: 'ExportIssued', data })
}

/** The start is on record: where this fails, too, the bundle counts as cut. Never rejects. */
function recordCut(request: BundleRequest, made: Made): Promise<void> {
  return recordIssue(request, 'cut', made).catch(() => undefined)
}

async function* tarOf(request: BundleRequest, made: Made): AsyncGenerator<Uint8Array, void> {
  let complete = false
  try {
    const plan = await planBundle(request)
    made.events = plan.events
    let held: Uint8Array | undefined
    for await (const chunk of tarChunks(plan.files)) {
      if (held !== undefined) yield held
      made.hash.update(chunk)
      made.bytes += chunk.length
      held = chunk
    }
    await recordIssue(request, 'complete', made)
    complete = true
    if (held !== undefined) yield held
  } finally {
    if (!complete) await recordCut(request, made)
  }
}
