/** @module A bundle from asking to its last byte, on record like every export. */
import { randomUUID } from 'node:crypto'
import type { EventQuery } from '../../../schemas/event-query.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { refusal } from '../../domain/refusal.ts'
import type { Caller, Ledger } from '../../ledger/ledger.ts'
import { type BodyPortion, type MadeSoFar, NOTHING_MADE, type Portions, portionsOf } from '../export-body.ts'
import { type Refused, refusedBy } from '../export-refusal.ts'
import { orUnbegun } from '../or-unbegun.ts'
import { type BundleMaker, bundlePortions } from './bundle-portions.ts'
import { unprovableMember } from './bundle-query.ts'
import type { BundleHost, BundleReads, BundleRequest } from './plan-bundle.ts'
import type { BundleProof } from './statement.ts'

export const BUNDLE_CONTENT_TYPE = 'application/x-tar'
const FORMAT = 'bundle'
/** Of a bundle that is made here: every piece of the tar is a portion. */
const PORTION_BYTES = 0

type Made = { -readonly [name in keyof MadeSoFar]: MadeSoFar[name] }

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

/** Signs a checkpoint over what the log holds now, and plans the bundle on it. `elsewhere`: a thread of its own for what is read and packed. */
export async function prepareBundle(
  ledger: Ledger,
  caller: Caller,
  query: EventQuery,
  { proof = query.run === undefined ? 'log' : 'stream', values = false }: BundleOptions = {},
  elsewhere?: BundleMaker,
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
  const { actor, principal, via, tenant } = caller
  const exportedBy = { actor, ...(principal !== undefined && { principal }), ...(via && { via }) }
  const { ledgerId, exports } = ledger
  const of = {
    ...{ ledgerId, tenant, exportedBy, time: exports.now(), query, values, exportId: randomUUID() },
    ...{ ...pinned, stamp: await exports.timestamp(caller, pinned.pin) },
  }
  const inHand: Issuing = { ledger, caller, request: of, elsewhere }
  return { ok: true, value: { start: () => recordStart(inHand), chunks: (signal) => chunksOf(inHand, signal) } }
}

interface Issuing {
  readonly ledger: Ledger
  readonly caller: Caller
  readonly request: BundleRequest
  readonly elsewhere: BundleMaker | undefined
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

async function recordStart({ ledger, caller, request }: Issuing): Promise<void> {
  await ledger.exports.record(caller, { type: 'ExportStarted', data: exportedPart(request) })
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
function chunksOf(issuing: Issuing, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array, void> {
  const made = { ...NOTHING_MADE }
  return orUnbegun(tarOf(issuing, made, signal), () => recordCut(issuing, made))
}

function recordIssue(
  { ledger, caller, request }: Issuing,
  outcome: 'complete' | 'cut',
  { events, bytes, digest }: MadeSoFar,
): Promise<void> {
  const data = { ...exportedPart(request), outcome, events, bytes, digest }
  return ledger.exports.record(caller, { type: 'ExportIssued', data })
}

/** The start is on record: where this fails, too, the bundle counts as cut. Never rejects. */
function recordCut(issuing: Issuing, made: MadeSoFar): Promise<void> {
  return recordIssue(issuing, 'cut', made).catch(() => undefined)
}

async function* tarOf(issuing: Issuing, made: Made, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array, void> {
  const body = bodyFor(issuing, signal)
  let complete = false
  const leave = (): void => body.leave()
  signal?.addEventListener('abort', leave)
  try {
    let held: Uint8Array | undefined
    for (let portion = await body.next(); portion !== undefined; portion = await body.next()) {
      signal?.throwIfAborted()
      if (held !== undefined) yield held
      const { chunk, events, bytes, digest } = portion
      Object.assign(made, { events, bytes, digest })
      held = chunk
    }
    await recordIssue(issuing, 'complete', made)
    complete = true
    if (held !== undefined) yield held
  } finally {
    signal?.removeEventListener('abort', leave)
    await body.close()
    if (!complete) await recordCut(issuing, made)
  }
}

function bodyFor(
  { ledger: { exports }, caller, request, elsewhere }: Issuing,
  signal: AbortSignal | undefined,
): Portions<BodyPortion> {
  const host: BundleHost = {
    proofFiles: async (ids) => {
      const files: string[] = []
      for (const id of ids) {
        const wait = caller.pace?.turn()
        if (wait !== undefined) await wait
        files.push(exports.proofFile(caller, id, request.pin))
      }
      return files
    },
    sign: async (payloadType, payload) => exports.sign(caller, payloadType, payload),
  }
  if (elsewhere !== undefined) return elsewhere.bundle(request, host)
  const reads: BundleReads = {
    leaves: (size) => exports.leaves(caller, size),
    runEvents: (runId, count) => exports.runEvents(caller, runId, count),
    valueParts: (digest) => exports.valueParts(caller, digest),
  }
  return portionsOf(bundlePortions({ request, reads, host, signal }, PORTION_BYTES))
}
