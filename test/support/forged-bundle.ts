/**
 * @module Bundles made by whoever holds a log's key and this very code: each part follows from the lines, headers and manifest that are
 * given, and everything is signed. Only what is wrong with those is left to be found.
 */
import type { JsonObject } from '../../schemas/json.ts'
import { CompactTree } from '../../src/merkle/compact-tree.ts'
import { leafHash } from '../../src/merkle/hashes.ts'
import { proveInclusion } from '../../src/merkle/inclusion.ts'
import { noteSigner } from '../../src/merkle/note-key.ts'
import {
  grownDigest,
  NO_EVENTS,
  pathWithin,
  type StreamHead,
  streamKey,
  streamsLine,
  subtreeOf,
} from '../../src/merkle/stream-tree.ts'
import { formatTlogProof } from '../../src/merkle/tlog-proof.ts'
import type { Listed } from '../../src/verify/bundle/bounded-lists.ts'
import { PROOFS_MAX } from '../../src/verify/bundle/bundle-files.ts'
import type { Row } from '../../src/verify/bundle/event-rows.ts'
import type { BundlePredicate } from '../../src/verify/bundle/predicate.ts'
import { readmeText } from '../../src/verify/bundle/readme.ts'
import { reportHtml } from '../../src/verify/bundle/report.ts'
import { ReportFacts } from '../../src/verify/bundle/report-facts.ts'
import { jwksText } from '../../src/verify/bundle/verifier-keys.ts'
import {
  checkpointOf,
  type Files,
  headerOf,
  type LogKey,
  predicateOf,
  signedAgain,
  trailerLine,
  treeOf,
} from './forgery.ts'

export interface Forgery {
  /** Texts of all headers of the log. */
  readonly headers: readonly string[]
  /** Lines of events.jsonl without head and trailer, each with its line feed. */
  readonly lines: readonly string[]
  readonly predicate: BundlePredicate
  /** Instead of one over the headers. */
  readonly note?: string
  /** Instead of the one that fits the lines. */
  readonly trailer?: string
  /** Of a bundle of an answer: the rows that its report lists. */
  readonly listed?: Listed<Row>
  /** Of a bundle of one run: what it shows of the tree of streams, instead of the log. */
  readonly streamHeads?: readonly StreamHead[]
  /** Files besides, as they are. */
  readonly more?: Files
}

/** What a sound bundle is made of, to be changed and signed again. */
export function partsOf(files: Files): Forgery {
  const lines = textLines(files, 'events.jsonl').filter((line) => line.startsWith('{"header":'))
  return {
    headers: textLines(files, 'log.jsonl').map((line) => line.slice(0, -1)),
    lines,
    predicate: predicateOf(files),
  }
}

export function textLines(files: Files, name: string): readonly string[] {
  const text = files.get(name)?.toString() ?? ''
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => `${line}\n`)
}

/** `base` gives what no change is made of: the verifier. */
export function forgedBundle(
  base: Files,
  { headers, lines, predicate, note, trailer, listed, streamHeads, more = new Map() }: Forgery,
  log: LogKey,
): Files {
  const checkpoint = note ?? checkpointOf(headers, log)
  const { run = null } = predicate.query
  const { run: _, ...filter } = predicate.complete
  const isPart = Object.keys(filter).length > 0
  const head = isPart ? [`${JSON.stringify({ filter })}\n`] : []
  const asOf = JSON.parse(textLines(base, 'events.jsonl').at(-1) ?? '').trailer.asOf as string
  const predicateFields = { ledgerId: predicate.ledgerId, run, ...(isPart && { filter: filter as JsonObject }), asOf }
  const tree = { treeSize: predicate.checkpoint.size, root: predicate.checkpoint.root }
  const last = trailer ?? trailerLine([...head, ...lines], log, { ...predicateFields, ...tree })
  const facts = new ReportFacts()
  for (const line of lines) facts.take(eventOf(line))
  facts.nextPass()
  const key = noteSigner(log.name, log.key).verifier.text
  const proof = streamHeads === undefined ? 'log' : 'stream'
  const files: [string, string][] = [
    ['README.txt', readmeText(predicate, proof, false, more.has('timestamp.txt'))],
    ['checkpoint', checkpoint],
    ['events.jsonl', [...head, ...lines, last].join('')],
    ['jwks.json', jwksText(key)],
    ...(streamHeads === undefined ? [logFile(headers)] : []),
    ...proofs(headers, lines, checkpoint),
    ['report.html', reportHtml(facts, predicate, listed)],
    ...(streamHeads === undefined ? [] : [streamFile(streamHeads, `run-${predicate.tenant}.${run}`)]),
    ['verifier-key.txt', `${key}\n`],
    ['verify.mjs', base.get('verify.mjs')?.toString() ?? ''],
  ]
  const all = [...files.map(([name, text]) => [name, Buffer.from(text)] as const), ...more]
  return signedAgain(new Map(all.sort(([a], [b]) => (a < b ? -1 : 1))), log, predicate, proof)
}

function logFile(headers: readonly string[]): [string, string] {
  return ['log.jsonl', headers.map((header) => `${header}\n`).join('')]
}

function streamFile(heads: readonly StreamHead[], stream: string): [string, string] {
  const key = streamKey(stream)
  const own = heads.find((head) => Buffer.from(head.key).equals(key))
  const path = pathWithin(heads, key, 0).map((hash) => Buffer.from(hash).toString('base64'))
  const digest = `sha256:${Buffer.from(own?.digest ?? []).toString('hex')}`
  return ['stream.json', `${JSON.stringify({ events: own?.events ?? 0, digest, path })}\n`]
}

/** The heads of the streams of these headers. */
export function streamHeadsOf(headers: readonly string[]): readonly StreamHead[] {
  const heads = new Map<string, StreamHead>()
  for (const header of headers) {
    const { stream } = JSON.parse(header) as { readonly stream: string }
    const head = heads.get(stream) ?? { key: streamKey(stream), events: 0, digest: NO_EVENTS }
    heads.set(stream, { ...head, events: head.events + 1, digest: grownDigest(head.digest, leafHash(header)) })
  }
  return [...heads.values()]
}

/** The line of a checkpoint that names the tree of these streams. */
export function streamsLineOf(heads: readonly StreamHead[]): string {
  return streamsLine(subtreeOf(heads, 0).hash)
}

function eventOf(line: string) {
  const { header, data } = JSON.parse(line)
  return { header, data }
}

/** The same query over these lines and headers, counted again. */
export function recounted(
  predicate: BundlePredicate,
  headers: readonly string[],
  lines: readonly string[],
): BundlePredicate {
  const { treeSize, root } = treeOf(headers)
  const counts = { events: lines.length, matching: lines.length, leaves: treeSize }
  const proven = lines.length === 0 ? 'none' : lines.length <= PROOFS_MAX ? 'every event' : 'first and last event'
  return { ...predicate, checkpoint: { size: treeSize, root }, counts, proofs: proven }
}

function proofs(headers: readonly string[], lines: readonly string[], checkpoint: string): [string, string][] {
  const nodes = new Map<string, Uint8Array>()
  const tree = new CompactTree()
  for (const header of headers)
    tree.append(leafHash(header), (level, index, hash) => void nodes.set(`${level}/${index}`, hash))
  const read = ({ level, index }: { level: number; index: number }): Uint8Array =>
    nodes.get(`${level}/${index}`) ?? new Uint8Array(32)
  const chosen = lines.length <= PROOFS_MAX ? lines : [lines[0] ?? '', lines.at(-1) ?? '']
  return chosen.flatMap((line) => {
    const header = headerOf(line)
    const index = headers.indexOf(header)
    const hashes = index < 0 ? [] : proveInclusion(index, headers.length, read)
    const { id } = JSON.parse(header)
    return [[`proofs/${id}.tlog-proof`, formatTlogProof({ index: Math.max(index, 0), hashes, checkpoint })]]
  })
}
