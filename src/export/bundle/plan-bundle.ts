/**
 * @module What goes into a bundle. The log is read to measure and digest, once as a rule, and again whenever a file is written: memory stays
 * flat, and the manifest, which stands before the events, names their digest.
 */
import { readFileSync } from 'node:fs'
import type { AnswerQuestion } from '../../../schemas/answer-trailer.ts'
import { declarationOf, type EventBody } from '../../../schemas/events.ts'
import { TRAILER_PAYLOAD_TYPE } from '../../../schemas/export-trailer.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { lossesMember } from '../../../schemas/loss.ts'
import { ValueRef } from '../../../schemas/values.ts'
import type { SealedPin } from '../../ledger/ledger.ts'
import type { LedgerEvent } from '../../ledger/ledger-event.ts'
import type { TimestampedCheckpoint } from '../../ledger/log/tenant-logs.ts'
import { CompactTree } from '../../merkle/compact-tree.ts'
import { leafHash, sameHash } from '../../merkle/hashes.ts'
import { grownDigest, NO_EVENTS, type StreamPath } from '../../merkle/stream-tree.ts'
import { digestText } from '../../signing/digests.ts'
import type { DsseEnvelope } from '../../signing/dsse.ts'
import { PROOFS_MAX } from '../../verify/bundle/bundle-files.ts'
import type { Gathered } from '../../verify/bundle/gathered.ts'
import { VERIFIER_FILE } from '../../verify/bundle/own-file.ts'
import type { BundlePredicate, BundleProof, BundleQuery } from '../../verify/bundle/predicate.ts'
import { readmeText } from '../../verify/bundle/readme.ts'
import { reportHtml } from '../../verify/bundle/report.ts'
import { ReportFacts } from '../../verify/bundle/report-facts.ts'
import { jwksText } from '../../verify/bundle/verifier-keys.ts'
import type { LogAgain } from '../answer/made-rows.ts'
import { exportHead, exportLine, exportTrailer } from '../jsonl.ts'
import { trailerPayload, trailerUnder } from '../signed-trailer.ts'
import { measuredAnswer } from './answer-file.ts'
import { type BundleFile, ChangedContentError, linesFile, Measure, textFile } from './bundle-file.ts'
import { answersTo, completePart, isSelected } from './bundle-query.ts'
import { stampFiles, streamText, successionFile } from './log-files.ts'
import { STATEMENT_PAYLOAD_TYPE, statementText } from './statement.ts'

const EVENTS = 'events.jsonl'
const LOG = 'log.jsonl'
const STREAM = 'stream.json'
const VALUES = 'values.jsonl'

/** What a bundle is made of, and how it was pinned: plain values, which another thread takes. */
export interface BundleRequest {
  readonly ledgerId: string
  readonly tenant: string
  readonly exportedBy: BundlePredicate['exportedBy']
  /** RFC 3339. */
  readonly time: string
  readonly query: BundleQuery
  /** Whose answer is brought along; `query` is then what its rows follow from. */
  readonly question?: AnswerQuestion | undefined
  readonly pin: SealedPin
  readonly exportId: string
  /** Bring along the large values that the events name. */
  readonly values: boolean
  /** Shows how many events the run has, instead of the whole log. */
  readonly stream?: StreamPath | undefined
  /** What a timestamp authority says of the pin, or of a checkpoint before it. */
  readonly stamp?: TimestampedCheckpoint | undefined
}

/** Where events and values are read. */
export interface BundleReads {
  /** The first events of the tenant's log. */
  leaves(size: number): AsyncIterable<readonly LedgerEvent[]>
  /** The first events of a run. */
  runEvents(runId: string, count: number): AsyncIterable<readonly LedgerEvent[]>
  valueParts(digest: string): AsyncIterable<EventBody<'ValueStored'>>
}

/** What the log and its key say. */
export interface BundleHost {
  /** Proof files of events against the pin, in their order. */
  proofFiles(ids: readonly string[]): Promise<readonly string[]>
  sign(payloadType: string, payload: Uint8Array): Promise<DsseEnvelope | undefined>
}

export interface PendingBundle {
  readonly request: BundleRequest
  readonly reads: BundleReads
  readonly host: BundleHost
  /** Aborts when nobody wants the bundle any more. */
  readonly signal?: AbortSignal | undefined
}

export interface BundlePlan {
  readonly files: readonly BundleFile[]
  readonly events: number
}

/** Throws `ChangedContentError` where the store does not hold the log that was signed, and the signal's reason once it aborts. */
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
  const statement = statementText(signed, predicate, proofOf(request))
  const envelope = await host.sign(STATEMENT_PAYLOAD_TYPE, Buffer.from(statement))
  if (envelope === undefined) throw new TypeError('a bundle needs the key of a log')
  // A rotation since it was pinned: asked for again, the bundle is under the new key as a whole.
  if (!pin.verifierKey.startsWith(`${envelope.signatures[0]?.keyid}+`))
    throw new ChangedContentError('verifier-key.txt')
  const files = [
    ...signed,
    textFile('manifest.json', statement),
    textFile('manifest.dsse.json', `${JSON.stringify(envelope)}\n`),
  ]
  return { files, events: measured.events }
}

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
  for await (const { event, selected } of leavesOf(pending)) {
    const { headerText } = event
    const leaf = leafHash(headerText)
    if (request.stream === undefined) {
      log.add(`${headerText}\n`)
      tree.append(leaf)
    } else digest = grownDigest(digest, leaf)
    if (!selected) continue
    // First: a body that was parsed for what the report says needs no look of its own before it is written.
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

/** Further passes over the log, for what needs more than one to stay within its memory. */
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
  const losses = lossesMember(pin.losses)
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

/** What the bundle is complete for: with the tree of streams, the run as a whole, whatever else was asked of it. */
function partOf({ query, stream }: BundleRequest): BundleQuery {
  return stream === undefined ? completePart(query) : { run: query.run }
}

async function* leavesOf({
  request,
  reads,
  signal,
}: PendingBundle): AsyncGenerator<{ readonly event: LedgerEvent; readonly selected: boolean }, void> {
  const { tenant, query, pin, stream } = request
  const part = partOf(request)
  const pages =
    stream === undefined ? reads.leaves(pin.tree.size) : reads.runEvents(query.run ?? '', stream.head.events)
  for await (const page of pages) {
    // The log is measured as a whole before the first byte leaves.
    signal?.throwIfAborted()
    for (const event of page) yield { event, selected: isSelected(event.header, tenant, part) }
  }
}

/** Every event of the log, for as often as they are asked for, with its body where the bundle holds it. */
const leavesWithin = (pending: PendingBundle): LogAgain =>
  async function* () {
    let leaf = 0
    for await (const { event, selected } of leavesOf(pending)) {
      yield [{ header: event.header, data: selected ? event.data : undefined }, leaf]
      leaf += 1
    }
  }

async function* logLines(pending: PendingBundle): AsyncGenerator<string, void> {
  for await (const { event } of leavesOf(pending)) yield `${event.headerText}\n`
}

/** Read once to measure and digest them, and again as they are written: no value is held. */
async function valuesFile(pending: PendingBundle): Promise<BundleFile> {
  const measure = new Measure()
  for await (const line of valueLines(pending)) measure.add(line)
  return linesFile(VALUES, measure.result(), () => valueLines(pending))
}

/** A part of a value a line, under the event that names it. One that is gone has no lines: whoever verifies names it. */
async function* valueLines(pending: PendingBundle): AsyncGenerator<string, void> {
  for await (const { event, selected } of leavesOf(pending)) {
    const digest = selected ? valueNamedBy(event) : undefined
    if (digest === undefined) continue
    for await (const { salt, part, parts, text } of pending.reads.valueParts(digest))
      yield `${JSON.stringify({ event: event.header.id, salt, part, parts, text })}\n`
  }
}

/** The digest of a value that is kept beside the event. */
function valueNamedBy({ header, data }: LedgerEvent): string | undefined {
  const { large } = declarationOf(header.type) ?? {}
  const named = ValueRef.safeParse(large === undefined ? undefined : data[`${large}Ref`])
  return named.success && named.data.kept !== false ? named.data.digest : undefined
}

/** The events and their trailer, as any JSONL export has it. */
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

/** What was taken besides the run; undefined where it is all of the run, or of the tenant. */
function filterOf(request: BundleRequest): JsonObject | undefined {
  const { run: _, ...filter } = partOf(request)
  return Object.keys(filter).length === 0 ? undefined : (filter as JsonObject)
}

function headOf(request: BundleRequest): string {
  const filter = filterOf(request)
  return filter === undefined ? '' : exportHead(filter)
}
