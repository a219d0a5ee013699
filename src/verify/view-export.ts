/**
 * @module Exports in formats other than JSONL are views: they contain what was recorded, but not in the signed form. The trailer shows whether such a file is
 * complete and unchanged; only JSONL and bundles show that the ledger sealed the content.
 */

import { createHash } from 'node:crypto'
import { AnswerTrailer } from '../../schemas/answer-trailer.ts'
import { ExportTrailer } from '../../schemas/export-trailer.ts'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../schemas/json.ts'
import { type FindLogKey, logSigner, lossFaults, signatureOf } from './export-completeness.ts'
import type { VerifyFault } from './fault.ts'
import { readLines } from './read-lines.ts'

const LINE_MAX_BYTES = 16 * 1024 * 1024

/** Finds the trailer in the text of a line; undefined if there is none. */
type FindTrailer = (line: string) => Json | undefined

const VIEWS: Readonly<Record<string, FindTrailer>> = {
  cloudevents: (line) => {
    const event = objectOf(line.replace(/,$/, ''))
    return event?.type === 'dev.countersign.export.trailer.v1' ? event.data : undefined
  },
  ocsf: (line) => memberOf(objectOf(line), 'unmapped', 'trailer'),
  otlp: (line) => {
    const attributes = memberOf(objectOf(line), 'resourceSpans', '0', 'resource', 'attributes')
    if (!Array.isArray(attributes)) return undefined
    const own = attributes.find((each) => memberOf(each, 'key') === 'countersign.export.trailer')
    const text = memberOf(own, 'value', 'stringValue')
    return typeof text === 'string' ? objectOf(text) : undefined
  },
  answer: (line) => memberOf(objectOf(line), 'trailer'),
  'answer-csv': (line) => {
    const cell = /^AnswerTrailer,.*,"(\{.*\})"\r$/.exec(line)?.[1]
    return cell === undefined ? undefined : objectOf(cell.replaceAll('""', '"'))
  },
  csv: (line) => {
    const cell = /,ExportTrailer,.*,"(\{.*\})"\r$/.exec(line)?.[1]
    return cell === undefined ? undefined : objectOf(cell.replaceAll('""', '"'))
  },
}

/** The trailer in the last record of an export or an answer of any line format; undefined if there is none. Nothing of it is checked. */
export function trailerIn(line: string): JsonObject | undefined {
  for (const find of Object.values(VIEWS)) {
    const found = find(line)
    if (found !== undefined && isJsonObject(found)) return found
  }
  return undefined
}

/** The format that the beginning of a file indicates; undefined for JSONL, and for anything that is no export. */
export function viewFormat(beginning: string): string | undefined {
  // The first release had the position as the first column.
  if (/^(?:position,)?id,stream,revision,/.test(beginning)) return 'csv'
  if (/^(?:\[\n)?\{"specversion":/.test(beginning)) return 'cloudevents'
  if (beginning.startsWith('{"category_uid":')) return 'ocsf'
  if (beginning.startsWith('{"answer":')) return 'answer'
  if (beginning.startsWith('answer,')) return 'answer-csv'
  return beginning.startsWith('{"resourceSpans":') ? 'otlp' : undefined
}

export interface CheckedView {
  readonly fault: VerifyFault
  /** Present if the file is unchanged and has a valid trailer. */
  readonly trailer?: ExportTrailer
}

/** The result for such a file, which is never "verified". Errors of `chunks` are passed on. */
export async function checkView(
  chunks: AsyncIterable<Uint8Array>,
  format: string,
  findKey?: FindLogKey,
): Promise<CheckedView> {
  const { last, digest } = await lastRecord(chunks)
  const found = VIEWS[format]?.(last)
  if (found === undefined || !isJsonObject(found)) {
    const message = 'the last record is no trailer: the export was cut, and events may be missing'
    return { fault: { code: 'no-trailer', message } }
  }
  if (found.digest !== digest)
    return { fault: { code: 'trailer-digest', message: 'the trailer has the digest of other bytes than these' } }
  if (format.startsWith('answer')) return { fault: answerFault(found, findKey) }
  const trailer = ExportTrailer.safeParse(found).data
  const signature = trailer && signatureOf(trailer, findKey)
  const [fault] = [...(signature?.faults ?? []), ...lossFaults(trailer?.losses)]
  if (fault !== undefined) return { fault, ...(trailer && { trailer }) }
  const counts = `the ${String(found.events)} events that were exported are all here, as they were written`
  const by =
    signature?.by === undefined ? '' : `, says a trailer signed with ${signature.by.name}+${signature.by.keyId}`
  const message = `${counts}${by}; that the ledger sealed them is shown by a JSONL export or a bundle`
  return { fault: { code: 'view', message }, ...(trailer && { trailer }) }
}

/** An answer is only a claim of the ledger, signed with its key: nothing in it proves that no other event answers the question. */
function answerFault(found: JsonObject, findKey: FindLogKey | undefined): VerifyFault {
  const trailer = AnswerTrailer.safeParse(found).data
  if (trailer === undefined) return { code: 'no-trailer', message: 'the last record is no trailer of an answer' }
  const { question, rows, treeSize, exportedBy, time, signature, tenant, restsOn, notSearched } = trailer
  const { signature: _, ...signed } = found
  const signer = logSigner({ tenant, signature, text: JSON.stringify(signed) }, findKey)
  const [fault] = [...signer.faults, ...lossFaults(trailer.losses)]
  if (fault !== undefined) return fault
  const { query, ...parameters } = question
  const by =
    signer.by === undefined ? signer.missing : `its trailer is signed with ${signer.by.name}+${signer.by.keyId}`
  const isOwnRecord = restsOn === 'ledger-record'
  const where = isOwnRecord
    ? `out of the ledger's own record, for ${tenant}, whose log had ${treeSize} events`
    : `of the first ${treeSize} events of the log of ${tenant}`
  const what = `the answer to ${query} ${JSON.stringify(parameters)} ${where}`
  const verdict = `all ${rows} rows are here as they were written at ${time} for ${exportedBy.principal ?? exportedBy.actor}; ${by}`
  const proof = isOwnRecord
    ? 'the operator proves an event of that record by "countersign proof EVENT --tenant system"'
    : 'each event that a row names is proven by itself ("countersign proof EVENT"), the answer as a whole by "audit QUERY --bundle"'
  const unsearched = notSearched === undefined ? '' : `, and not searched were ${notSearched.join(', ')}`
  const limit = `that no other event answers the question is the word of the ledger${unsearched}; ${proof}`
  return { code: 'view', message: `${what}: ${verdict}; ${limit}` }
}

/** The last line other than the end of a list, and the digest of all lines before it. */
async function lastRecord(
  chunks: AsyncIterable<Uint8Array>,
): Promise<{ readonly last: string; readonly digest: string }> {
  const hash = createHash('sha256')
  let before: Buffer | undefined
  for await (const lines of readLines(chunks, LINE_MAX_BYTES)) {
    for (const { bytes, ended } of lines) {
      // The last line of a batch closes its list.
      if (!ended || bytes.toString() === ']') continue
      if (before !== undefined) hash.update(before).update('\n')
      before = bytes
    }
  }
  return { last: before?.toString() ?? '', digest: `sha256:${hash.digest('hex')}` }
}

function objectOf(text: string): JsonObject | undefined {
  try {
    const value = parseJson(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function memberOf(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>((at, name) => {
    if (Array.isArray(at)) return at[Number(name)]
    return at !== undefined && isJsonObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
  }, value)
}
