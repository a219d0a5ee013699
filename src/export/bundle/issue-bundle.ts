/** @module A bundle from request to last byte, recorded like any export. */
import { randomUUID } from 'node:crypto'
import type { LostEvent } from '../../../schemas/acknowledged-loss.ts'
import type { AnswerQuestion } from '../../../schemas/answer-trailer.ts'
import { type EventQuery, periodFault } from '../../../schemas/event-query.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { runStream } from '../../../schemas/names.ts'
import { refusal } from '../../domain/refusal.ts'
import { AUDIT_QUERIES, followsFromLog } from '../../ledger/audit/audit-queries.ts'
import type { AuditQuestion } from '../../ledger/audit/audit-reads.ts'
import type { Caller, Ledger } from '../../ledger/ledger.ts'
import type { BundleProof, BundleQuery } from '../../verify/bundle/predicate.ts'
import { eventsBehind } from '../../verify/bundle/questions.ts'
import { questionOf } from '../answer/answer-question.ts'
import { refusedQuestion } from '../answer/issue-answer.ts'
import { answerBytes } from '../answer/made-rows.ts'
import { type ExportRecord, exportedBy, exportRecord } from '../audit-trail.ts'
import { type BodyPortion, type Making, NOTHING_MADE, type Portions, portionsOf } from '../export-body.ts'
import { type Refused, refusedBy } from '../export-refusal.ts'
import { orUnbegun } from '../or-unbegun.ts'
import { type BundleMaker, bundlePortions } from './bundle-portions.ts'
import { unprovableMember } from './bundle-query.ts'
import type { BundleHost, BundleReads, BundleRequest } from './plan-bundle.ts'

export const BUNDLE_CONTENT_TYPE = 'application/x-tar'
/** For a bundle that is produced in this thread: every piece of the tar is a portion. */
const PORTION_BYTES = 0

export interface PreparedBundle {
  /** Memory that it may use in addition to pages and buffers. */
  readonly heldBytes: number
  /** To be awaited before the first byte is sent. Throws `StoreUnavailableError`. */
  readonly start: () => Promise<void>
  /** The tar. Throws what reading the store throws, and the signal's reason at the next page; the tar is then incomplete. */
  readonly chunks: (signal?: AbortSignal) => AsyncGenerator<Uint8Array, void>
}

export type Bundled = { readonly ok: true; readonly value: PreparedBundle } | Refused

export interface BundleOptions {
  /** `stream`, the default for a run: the tree of streams named in the checkpoint. `log`: the headers of the whole log. */
  readonly proof?: BundleProof | undefined
  /** Whether to include the large values that the events name. */
  readonly values?: boolean | undefined
}

/** Signs a checkpoint over the current log, and plans the bundle on it. `elsewhere`: a separate thread for reading and packing. */
export async function prepareBundle(
  ledger: Ledger,
  caller: Caller,
  query: EventQuery,
  { proof = query.run === undefined ? 'log' : 'stream', values = false }: BundleOptions = {},
  elsewhere?: BundleMaker,
): Promise<Bundled> {
  const member = unprovableMember(query)
  if (member !== undefined) return { ok: false, code: 'invalid-query', detail: `${member} ${UNPROVABLE}` }
  const period = periodFault(query)
  if (period !== undefined) return { ok: false, code: 'invalid-query', detail: period }
  if (proof === 'stream' && query.run === undefined) return { ok: false, code: 'invalid-query', detail: NO_RUN }
  const { run, ...filter } = query
  const wanted = { query, values, proof, recorded: { format: 'bundle', run, filter: filter as JsonObject } }
  return issued({ ledger, caller, elsewhere }, wanted)
}

/**
 * Prepares the bundle of the answer to an auditor's question: its rows, and the events that they follow from, so that a verifier can produce them again. It is
 * as of the checkpoint that is signed now, or of an earlier size of the log, which the checkpoint covers.
 */
export async function prepareAnswerBundle(
  ledger: Ledger,
  caller: Caller,
  asked: AuditQuestion & { readonly treeSize?: number | undefined },
  elsewhere?: BundleMaker,
): Promise<Bundled> {
  const { audit } = ledger
  if (audit === undefined) return { ok: false, code: 'not-found', detail: 'an answer needs the index of the audit' }
  const { treeSize, ...plain } = asked
  const planned = await audit.plan(caller, plain, { limit: 1, ...(treeSize !== undefined && { treeSize }) })
  if ('code' in planned) return refusedQuestion(planned)
  const question = { ...questionOf(planned), ...(treeSize !== undefined && { asOf: treeSize }) }
  if (!followsFromLog(AUDIT_QUERIES[asked.name].shape))
    return { ok: false, code: 'invalid-query', detail: `${question.query} ${NOT_OF_LOG}` }
  const query = eventsBehind(question)
  const { run } = asked.filter
  const recorded = { format: 'answer-bundle', run, filter: question as unknown as JsonObject }
  return issued({ ledger, caller, elsewhere }, { query, question, values: false, proof: 'log', recorded })
}

interface Wanted {
  readonly query: BundleQuery
  readonly question?: AnswerQuestion
  readonly values: boolean
  readonly proof: BundleProof
  readonly recorded: Pick<Parameters<typeof exportRecord>[2], 'format' | 'run' | 'filter'>
}

type For = Pick<Issuing, 'ledger' | 'caller' | 'elsewhere'>

async function issued({ ledger, caller, elsewhere }: For, wanted: Wanted): Promise<Bundled> {
  const { query, question, values, proof, recorded } = wanted
  // A bundle contains the headers of the whole log: a token that is bound to one run or agent must not read them.
  if (caller.run !== undefined || caller.agent !== undefined) return refusedBy(BOUND)
  const lost = await ledger.exports.lostInLog(caller)
  // Such a run cannot be folded, and the tree of streams is over its very events: only the whole log proves what is left of it.
  const isHoled = query.run !== undefined && lost.some(isOfRun(caller.tenant, query.run))
  if (query.run !== undefined && !isHoled) {
    const found = await ledger.run(caller, query.run)
    if (!found.ok) return refusedBy(found.refusal)
  }
  const pinned = await pinnedFor(ledger, caller, proof === 'stream' && !isHoled ? query.run : undefined)
  if (pinned === undefined) return { ok: false, code: 'not-found', detail: NO_CHECKPOINT }
  if (question?.asOf !== undefined && question.asOf > pinned.pin.tree.size)
    return { ok: false, code: 'not-found', detail: NO_CHECKPOINT }
  const { ledgerId, exports } = ledger
  const exportId = randomUUID()
  const request: BundleRequest = {
    ...{ ledgerId, tenant: caller.tenant, exportedBy: exportedBy(caller), time: exports.now(), exportId },
    ...{ query, question, values, ...pinned, stamp: await exports.timestamp(caller, pinned.pin) },
    lost: pinned.stream === undefined ? lost.filter(({ index }) => index < pinned.pin.tree.size) : [],
  }
  const record = exportRecord(ledger, caller, { exportId, ...recorded, tree: pinned.pin.tree })
  const pending: Issuing = { ledger, caller, request, record, elsewhere }
  const heldBytes = question === undefined ? 0 : answerBytes(pinned.pin.tree.size)
  return { ok: true, value: { heldBytes, start: () => record.start(), chunks: (signal) => chunksOf(pending, signal) } }
}

interface Issuing {
  readonly ledger: Ledger
  readonly caller: Caller
  readonly request: BundleRequest
  readonly record: ExportRecord
  readonly elsewhere: BundleMaker | undefined
}

const isOfRun =
  (tenant: string, run: string) =>
  ({ stream }: LostEvent): boolean =>
    stream === runStream(tenant, run)

const PIN_TRIES = 3

/**
 * If another checkpoint was signed in the meantime, the tree of streams differs, and the newer checkpoint is used. If the tree is not available, as after a
 * rebuild of the logs' file, the whole log is used.
 */
async function pinnedFor(
  ledger: Ledger,
  caller: Caller,
  runId: string | undefined,
): Promise<Pick<BundleRequest, 'pin' | 'stream'> | undefined> {
  for (let tries = 1; ; tries += 1) {
    const pin = await ledger.exports.sealedPin(caller, runId)
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
const NOT_OF_LOG =
  "does not follow from the tenant's log alone: the time at which a key was announced is in the ledger's own. Export the answer as jsonl or csv, which the ledger signs"
const NO_CHECKPOINT =
  'there is nothing that a checkpoint covers: the log is empty or has stopped; run "countersign verify" if it holds events'

/** The last portion is held back until the issue is recorded: only a recorded bundle is ever complete. */
function chunksOf(issuing: Issuing, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array, void> {
  const made = { ...NOTHING_MADE }
  return orUnbegun(tarOf(issuing, made, signal), () => issuing.record.cut(made))
}

async function* tarOf(
  issuing: Issuing,
  made: Making,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void> {
  const body = bodyFor(issuing, signal)
  let complete = false
  const leave = (): void => body.leave()
  signal?.addEventListener('abort', leave)
  try {
    let previous: Uint8Array | undefined
    for (let portion = await body.next(); portion !== undefined; portion = await body.next()) {
      signal?.throwIfAborted()
      if (previous !== undefined) yield previous
      const { chunk, events, bytes, digest } = portion
      Object.assign(made, { events, bytes, digest })
      previous = chunk
    }
    await issuing.record.complete(made)
    complete = true
    if (previous !== undefined) yield previous
  } finally {
    signal?.removeEventListener('abort', leave)
    await body.close()
    if (!complete) await issuing.record.cut(made)
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
    leaves: (size, lost) => exports.leaves(caller, size, lost),
    runEvents: (runId, count) => exports.runEvents(caller, runId, count),
    valueParts: (digest) => exports.valueParts(caller, digest),
  }
  return portionsOf(bundlePortions({ request, reads, host, signal }, PORTION_BYTES))
}
