/**
 * @module The contents of a bundle. The log is read to measure and hash it, usually once, and again whenever a file is written: memory use stays constant, and
 * the manifest, which is written before the events, can state their digest.
 */
import { readFileSync } from 'node:fs'
import type { LostEvent } from '../../../schemas/acknowledged-loss.ts'
import { type AnswerQuestion, answerHead } from '../../../schemas/answer-trailer.ts'
import type { EventBody } from '../../../schemas/events.ts'
import { TRAILER_PAYLOAD_TYPE } from '../../../schemas/export-trailer.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { type Loss, lossesMember } from '../../../schemas/loss.ts'
import type { SealedPin } from '../../ledger/ledger.ts'
import type { LedgerEvent } from '../../ledger/ledger-event.ts'
import type { TimestampedCheckpoint } from '../../ledger/log/tenant-logs.ts'
import { toBase64 } from '../../merkle/base64.ts'
import { CompactTree } from '../../merkle/compact-tree.ts'
import { leafHash, sameHash } from '../../merkle/hashes.ts'
import { grownDigest, NO_EVENTS, type StreamPath } from '../../merkle/stream-tree.ts'
import { digestBytes, digestText } from '../../signing/digests.ts'
import type { DsseEnvelope } from '../../signing/dsse.ts'
import { BoundedList, type Listed } from '../../verify/bundle/bounded-lists.ts'
import { PROOFS_MAX } from '../../verify/bundle/bundle-files.ts'
import type { Row } from '../../verify/bundle/event-rows.ts'
import type { Gathered } from '../../verify/bundle/gathered.ts'
import { VERIFIER_FILE } from '../../verify/bundle/own-file.ts'
import type { BundlePredicate, BundleProof, BundleQuery } from '../../verify/bundle/predicate.ts'
import { readmeText } from '../../verify/bundle/readme.ts'
import { reportHtml } from '../../verify/bundle/report.ts'
import { ReportFacts } from '../../verify/bundle/report-facts.ts'
import { jwksText } from '../../verify/bundle/verifier-keys.ts'
import { type LogAgain, madeRows } from '../answer/made-rows.ts'
import { exportHead, exportLine, exportTrailer } from '../jsonl.ts'
import { trailerPayload, trailerUnder } from '../signed-trailer.ts'
import { valueNamedBy } from '../value-named-by.ts'
import { type BundleFile, bytesFile, ChangedContentError, linesFile, Measure, textFile } from './bundle-file.ts'
import { answersTo, completePart, isSelected } from './bundle-query.ts'
import { STATEMENT_PAYLOAD_TYPE, statementText } from './statement.ts'

const EVENTS = 'events.jsonl'
const LOG = 'log.jsonl'
const STREAM = 'stream.json'
const VALUES = 'values.jsonl'

/** The source of a bundle and its pin: plain values that can be passed to another thread. */
export interface BundleRequest {
  readonly ledgerId: string
  readonly tenant: string
  readonly exportedBy: BundlePredicate['exportedBy']
  /** RFC 3339. */
  readonly time: string
  readonly query: BundleQuery
  /** The question whose answer is included; `query` then selects the events that its rows follow from. */
  readonly question?: AnswerQuestion | undefined
  readonly pin: SealedPin
  readonly exportId: string
  /** Whether to include the large values that the events name. */
  readonly values: boolean
  /** Events of the log that the store does not have any more, and whose loss is acknowledged, in log order. */
  readonly lost: readonly LostEvent[]
  /** Proves the number of events of the run, instead of the whole log. */
  readonly stream?: StreamPath | undefined
  /** Time-stamp of the pinned checkpoint, or of an earlier one. */
  readonly stamp?: TimestampedCheckpoint | undefined
}

/** Reads events and values. */
export interface BundleReads {
  /** The events of the first `size` leaves of the tenant's log, except for the `lost` ones. */
  leaves(size: number, lost: readonly LostEvent[]): AsyncIterable<readonly LedgerEvent[]>
  /** The first `count` events of a run. */
  runEvents(runId: string, count: number): AsyncIterable<readonly LedgerEvent[]>
  valueParts(digest: string): AsyncIterable<EventBody<'ValueStored'>>
}

/** Access to the log and its key. */
export interface BundleHost {
  /** Proof files of events against the pin, in the order of `ids`. */
  proofFiles(ids: readonly string[]): Promise<readonly string[]>
  sign(payloadType: string, payload: Uint8Array): Promise<DsseEnvelope | undefined>
}

export interface PendingBundle {
  readonly request: BundleRequest
  readonly reads: BundleReads
  readonly host: BundleHost
  /** Aborted when the client no longer wants the bundle. */
  readonly signal?: AbortSignal | undefined
}

export interface BundlePlan {
  readonly files: readonly BundleFile[]
  readonly events: number
}

/** Throws `ChangedContentError` if the store does not contain the signed log, and the signal's reason once it is aborted. */
export async function planBundle(pending: PendingBundle): Promise<BundlePlan> {
  const { request, host } = pending
  const { pin } = request
  const measured = await measure(pending)
  const answer = request.question && (await measuredAnswer(leavesWithin(pending), request.question, request.tenant))
  const predicate = predicateOf(request, measured, answer?.listed.total)
  const { stamp } = request
  const proofs = await host.proofFiles(measured.proven)
  const signed: readonly BundleFile[] = [
    textFile('README.txt', readmeText(predicate, proofOf(request), request.values, stamp !== undefined)),
    ...(answer === undefined ? [] : [answer.file]),
    textFile('checkpoint', pin.note),
    await eventsFile(pending, measured),
    textFile('jwks.json', jwksText(pin.verifierKey)),
    ...successionFile(pin),
    ...(request.stream === undefined ? [linesFile(LOG, measured.log.result(), () => logLines(pending))] : []),
    ...measured.proven.map((id, at) => textFile(`proofs/${id}.tlog-proof`, proofs[at] ?? '')),
    textFile('report.html', reportHtml(measured.facts, predicate, answer?.listed)),
    ...(request.stream === undefined ? [] : [textFile(STREAM, streamText(request.stream))]),
    ...stampFiles(stamp),
    ...(request.values ? [await valuesFile(pending)] : []),
    textFile('verifier-key.txt', `${pin.verifierKey}\n`),
    textFile('verify.mjs', readFileSync(VERIFIER_FILE, 'utf8')),
  ]
  const isHoled = request.stream === undefined && request.lost.length > 0
  const statement = statementText(signed, predicate, proofOf(request), isHoled)
  const envelope = await host.sign(STATEMENT_PAYLOAD_TYPE, Buffer.from(statement))
  if (envelope === undefined) throw new TypeError('a bundle needs the key of a log')
  // The key was rotated since the pin: on a repeated request, the whole bundle is under the new key.
  if (!pin.verifierKey.startsWith(`${envelope.signatures[0]?.keyid}+`))
    throw new ChangedContentError('verifier-key.txt')
  const files = [
    ...signed,
    textFile('manifest.json', statement),
    textFile('manifest.dsse.json', `${JSON.stringify(envelope)}\n`),
  ]
  return { files, events: measured.events }
}

const acknowledgedLoss = ({ stream, revision }: LostEvent): Loss => ({
  scope: 'run',
  code: 'acknowledged',
  stream,
  revision,
})

interface Measured {
  readonly facts: ReportFacts
  readonly lines: Measure
  readonly log: Measure
  /** Ids of the events that have a proof file. */
  readonly proven: readonly string[]
  readonly events: number
  readonly matching: number
}

async function measure(pending: PendingBundle): Promise<Measured> {
  const { request } = pending
  const { pin, query } = request
  const facts = new ReportFacts()
  const [lines, log, tree] = [new Measure(), new Measure(), new CompactTree()]
  const answers = answersTo(query)
  const ids: string[] = []
  let last: string | undefined
  let events = 0
  let digest = NO_EVENTS
  lines.add(headOf(request))
  for await (const each of leavesOf(pending)) {
    const leaf = each.lost === undefined ? leafHash(each.event.headerText) : digestBytes(each.lost.digest)
    if (request.stream === undefined) {
      log.add(logLine(each))
      tree.append(leaf)
    } else digest = grownDigest(digest, leaf)
    if (!each.selected) continue
    const { event } = each
    // Called first: a body that was parsed for the report need not be checked again before it is written.
    facts.take(event)
    lines.add(exportLine(event.texts))
    events += 1
    answers.take(event)
    if (ids.length <= PROOFS_MAX) ids.push(event.header.id)
    last = event.header.id
  }
  const isSigned =
    request.stream === undefined
      ? tree.size === pin.tree.size && digestText(tree.root()) === pin.tree.root
      : sameHash(digest, request.stream.head.digest)
  if (!isSigned) throw new ChangedContentError(request.stream === undefined ? LOG : EVENTS)
  await takeAgain(pending, [facts, answers])
  const ends = [ids[0], last].filter((id) => id !== undefined)
  return { facts, lines, log, events, matching: answers.count, proven: events <= PROOFS_MAX ? ids : [...new Set(ends)] }
}

/** Further passes over the log, for collectors that need several passes to stay within their memory limit. */
async function takeAgain(pending: PendingBundle, gathered: readonly Gathered<LedgerEvent>[]): Promise<void> {
  for (;;) {
    const unfinished = gathered.filter((each) => each.nextPass())
    if (unfinished.length === 0) return
    for await (const { event, selected } of leavesOf(pending))
      if (selected) for (const each of unfinished) each.takeAgain(event)
  }
}

function predicateOf(request: BundleRequest, measured: Measured, rows = 0): BundlePredicate {
  const { ledgerId, tenant, exportedBy, time, query, pin, exportId, question } = request
  const losses = lossesMember([...pin.losses, ...request.lost.map(acknowledgedLoss)])
  const { events, matching, proven } = measured
  return {
    exportId,
    ledgerId,
    origin: pin.note.slice(0, pin.note.indexOf('\n')),
    tenant,
    query,
    complete: partOf(request),
    exportedBy,
    time,
    timeZone: 'UTC',
    checkpoint: { size: pin.tree.size, root: pin.tree.root },
    counts: { events, matching, leaves: pin.tree.size },
    proofs: events === 0 ? 'none' : proven.length === events ? 'every event' : 'first and last event',
    ...(question !== undefined && { answer: { question, rows } }),
    ...(losses && { losses }),
  }
}

const proofOf = ({ stream }: BundleRequest): BundleProof => (stream === undefined ? 'log' : 'stream')

/** The part for which the bundle is complete: with the tree of streams, the whole run, whatever else the query contains. */
function partOf({ query, stream }: BundleRequest): BundleQuery {
  return stream === undefined ? completePart(query) : { run: query.run }
}

/** A leaf of the log, or an event of the run; `lost` instead of the event if the store does not have it any more. */
type Leaf = { readonly index: number } & (
  | { readonly event: LedgerEvent; readonly selected: boolean; readonly lost?: undefined }
  | { readonly lost: LostEvent; readonly selected: false; readonly event?: undefined }
)

async function* leavesOf({ request, reads, signal }: PendingBundle): AsyncGenerator<Leaf, void> {
  const { tenant, query, pin, stream, lost } = request
  const part = partOf(request)
  const holes = new Map(stream === undefined ? lost.map((each) => [each.index, each]) : [])
  const pages =
    stream === undefined ? reads.leaves(pin.tree.size, lost) : reads.runEvents(query.run ?? '', stream.head.events)
  let index = 0
  const passed = function* (): Generator<Leaf, void> {
    for (let hole = holes.get(index); hole !== undefined; hole = holes.get(index)) {
      yield { index, lost: hole, selected: false }
      index += 1
    }
  }
  for await (const page of pages) {
    // The whole log is measured before the first byte is sent, so an abort must be noticed here.
    signal?.throwIfAborted()
    for (const event of page) {
      yield* passed()
      yield { index, event, selected: isSelected(event.header, tenant, part) }
      index += 1
    }
  }
  yield* passed()
}

/** Every event of the log that is not lost, for each call, with its body if the bundle contains it. */
const leavesWithin = (pending: PendingBundle): LogAgain =>
  async function* () {
    for await (const { event, selected, index } of leavesOf(pending))
      if (event !== undefined) yield [{ header: event.header, data: selected ? event.data : undefined }, index]
  }

async function* logLines(pending: PendingBundle): AsyncGenerator<string, void> {
  for await (const leaf of leavesOf(pending)) yield logLine(leaf)
}

/** In the place of a lost header: which event it was, and its leaf. */
function logLine(leaf: Leaf): string {
  if (leaf.lost === undefined) return `${leaf.event.headerText}\n`
  const { stream, revision, digest } = leaf.lost
  return `${JSON.stringify({ lost: { stream, revision, digest } })}\n`
}

/** Reads the values once to measure and hash them, and again when they are written: no value is kept in memory. */
async function valuesFile(pending: PendingBundle): Promise<BundleFile> {
  const measure = new Measure()
  for await (const line of valueLines(pending)) measure.add(line)
  return linesFile(VALUES, measure.result(), () => valueLines(pending))
}

/** One line per part of a value, with the event that names it. A missing value has no lines, which the verifier reports. */
async function* valueLines(pending: PendingBundle): AsyncGenerator<string, void> {
  for await (const { event, selected } of leavesOf(pending)) {
    const digest = selected ? valueNamedBy(event) : undefined
    if (!selected || digest === undefined) continue
    for await (const { salt, part, parts, text } of pending.reads.valueParts(digest))
      yield `${JSON.stringify({ event: event.header.id, salt, part, parts, text })}\n`
  }
}

/** The events and their trailer, as in any JSONL export. */
async function eventsFile(pending: PendingBundle, { lines, events }: Measured): Promise<BundleFile> {
  const { request, host } = pending
  const { ledgerId, tenant, query, pin } = request
  const filter = filterOf(request)
  const facts = {
    ledgerId,
    tenant,
    run: query.run ?? null,
    ...(filter && { filter }),
    events,
    digest: `sha256:${lines.result().sha256}`,
    asOf: pin.tree.eventId,
    treeSize: pin.tree.size,
    root: pin.tree.root,
  }
  const trailer = exportTrailer(trailerUnder(await host.sign(TRAILER_PAYLOAD_TYPE, trailerPayload(facts)), facts))
  lines.add(trailer)
  return linesFile(EVENTS, lines.result(), async function* () {
    yield headOf(request)
    for await (const { event, selected } of leavesOf(pending)) if (selected) yield exportLine(event.texts)
    yield trailer
  })
}

/** The selection in addition to the run; undefined if it is the whole run or tenant. */
function filterOf(request: BundleRequest): JsonObject | undefined {
  const { run: _, ...filter } = partOf(request)
  return Object.keys(filter).length === 0 ? undefined : (filter as JsonObject)
}

function headOf(request: BundleRequest): string {
  const filter = filterOf(request)
  return filter === undefined ? '' : exportHead(filter)
}

// Files of a bundle about the log that it is pinned to: the successions of its key, its last time-stamp, and a run's place in the tree of streams.

/** For a log whose key was rotated: leads from an earlier key to the one that signed. */
function successionFile({ successions }: SealedPin): readonly BundleFile[] {
  if (successions.length === 0) return []
  return [textFile('key-successions.json', `${JSON.stringify(successions, null, 2)}\n`)]
}

/** The last time-stamped checkpoint, which the bundle's own continues; it existed before the bundle was requested. */
function stampFiles(stamp: TimestampedCheckpoint | undefined): readonly BundleFile[] {
  if (stamp === undefined) return []
  const { text, reply, consistency } = stamp
  return [
    textFile('timestamp.json', `${JSON.stringify({ consistency: consistency.map(toBase64) })}\n`),
    bytesFile('timestamp.tsr', reply),
    textFile('timestamp.txt', text),
  ]
}

function streamText({ head, path }: StreamPath): string {
  const { events, digest } = head
  return `${JSON.stringify({ events, digest: digestText(digest), path: path.map(toBase64) })}\n`
}

// The answer in a bundle: its rows, produced from the events of the log alone, by the same code with which a verifier produces them again.

const ANSWER = 'answer.jsonl'

interface MeasuredAnswer {
  readonly file: BundleFile
  /** The first rows, and the number of all rows. */
  readonly listed: Listed<Row>
}

/** Throws if the answer needs more memory than the limit. */
async function measuredAnswer(log: LogAgain, question: AnswerQuestion, tenant: string): Promise<MeasuredAnswer> {
  const listed = new BoundedList<Row>()
  const measure = new Measure()
  measure.add(answerHead(question))
  for await (const row of madeRows(log, question, tenant)) {
    listed.add(row)
    measure.add(lineOf(row))
  }
  const file = linesFile(ANSWER, measure.result(), async function* () {
    yield answerHead(question)
    for await (const row of madeRows(log, question, tenant)) yield lineOf(row)
  })
  return { file, listed }
}

const lineOf = (row: Row): string => `${JSON.stringify(row)}\n`
