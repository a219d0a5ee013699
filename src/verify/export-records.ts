/**
 * @module Parsing a JSONL export into records. Each line must equal, byte for byte, the serialization of its parsed parts, and the last line must have the
 * count and the digest of all others: a truncated file lacks it.
 */

import { createHash } from 'node:crypto'
import { ExportTrailer, PartHead, trailerInOrder } from '../../schemas/export-trailer.ts'
import { isJsonObject, type Json, type JsonObject, parseJsonOrUndefined } from '../../schemas/json.ts'
import { parseStream } from '../../schemas/names.ts'
import { fromBase64url } from '../signing/base64url.ts'
import { canonicalJson } from '../signing/canonical-json.ts'
import { decodeUtf8 } from '../signing/strict-json.ts'
import type { AcknowledgedLosses } from './acknowledged-losses.ts'
import { isOfArchive } from './archive-filter.ts'
import type { HeldCheckpoint } from './checkpoint-check.ts'
import { type Completeness, type FindLogKey, judgeCompleteness } from './export-completeness.ts'
import { ExportTree } from './export-tree.ts'
import type { VerifyFaultCode } from './fault.ts'
import { type Line, readLines } from './read-lines.ts'
import type { PlacedRecord, SourceFault, SourceItem } from './source-item.ts'

/** Room for a header of 8 KiB and a body that contains more than the received payload of 512 KiB. */
const LINE_MAX_BYTES = 8 * 1024 * 1024

export interface ExportOptions {
  /** Called with the trailer, if it is valid, and with what it proves. */
  readonly onTrailer?: (trailer: ExportTrailer, completeness: Completeness) => void
  /** Checkpoint that the events are compared with. */
  readonly checkpoint?: HeldCheckpoint | undefined
  readonly findKey?: FindLogKey | undefined
  /** Other parts of its log are checked together with it. */
  readonly inChain?: boolean | undefined
  /** Acknowledgements that an earlier pass found in these events: the tree is followed past what they name. */
  readonly acknowledged?: AcknowledgedLosses | undefined
}

/** Records and faults of an export, in line order. Errors of `chunks` are passed on. */
export async function* exportPages(
  chunks: AsyncIterable<Uint8Array>,
  options: ExportOptions = {},
): AsyncGenerator<readonly SourceItem[], void> {
  const reader = new ExportReader(options)
  for await (const lines of readLines(chunks, LINE_MAX_BYTES)) {
    const items: SourceItem[] = []
    for (const line of lines) items.push(...reader.take(line))
    yield items
  }
  yield reader.end()
}

class ExportReader {
  readonly #hash = createHash('sha256')
  readonly #options: ExportOptions
  readonly #streams = new Set<string>()
  readonly #tree: ExportTree
  #events = 0
  /** The query of an export that contains only some events. */
  #filter: JsonObject | undefined
  #part: PartHead | undefined
  #trailer: ExportTrailer | undefined

  constructor(options: ExportOptions) {
    this.#options = options
    this.#tree = new ExportTree(options.checkpoint?.checkpoint, options.acknowledged)
  }

  take(line: Line): readonly SourceItem[] {
    if (this.#trailer !== undefined) return [faultOf('after-trailer', line, 'is after the trailer')]
    const text = line.tooLong ? undefined : decodeUtf8(line.bytes)
    const value = text === undefined ? undefined : parseJsonOrUndefined(text)
    const isTrailer = isJsonObject(value) && Object.hasOwn(value, 'trailer')
    // Only truncation leaves a line without a line feed; a complete trailer has lost nothing.
    if (!line.ended && !isTrailer) return []
    if (text === undefined || !isJsonObject(value)) {
      this.#count(line)
      return [faultOf('line-not-json', line, 'is no JSON object on a line of its own')]
    }
    if (isTrailer) return this.#takeTrailer(line, text, value)
    if (line.number === 1 && isJsonObject(value.filter)) return this.#takeHead(line, text, value.filter)
    if (line.number === 1 && isJsonObject(value.part)) return this.#takePart(line, text, value.part)
    this.#count(line)
    const item = recordOf(line, text, value)
    if (!('fault' in item)) {
      this.#streams.add(item.stream)
      this.#tree.take(item)
    }
    if ('fault' in item) return [item]
    return [
      {
        ...item,
        ...(this.#filter && !isOfArchive(this.#filter) && { alone: true }),
        ...(this.#part && { inPart: true }),
      },
    ]
  }

  #takeHead(line: Line, text: string, filter: JsonObject): readonly SourceItem[] {
    this.#filter = filter
    this.#hash.update(line.bytes)
    this.#hash.update('\n')
    return JSON.stringify({ filter }) === text
      ? []
      : [faultOf('line-not-canonical', line, 'is no head as an export writes it')]
  }

  #takePart(line: Line, text: string, parsed: JsonObject): readonly SourceItem[] {
    this.#hash.update(line.bytes)
    this.#hash.update('\n')
    const part = PartHead.safeParse(parsed).data
    if (part === undefined || JSON.stringify({ part }) !== text)
      return [faultOf('line-not-canonical', line, 'is no head of a part as an export writes it')]
    this.#part = part
    return this.#tree.goOnFrom(part) ? [] : [faultOf('part-head', line, 'names a tree that its hashes do not make')]
  }

  end(): readonly SourceItem[] {
    if (this.#trailer !== undefined) return []
    const message = 'the last line is no trailer: the export was cut, and events may be missing'
    return [{ fault: { code: 'no-trailer', message } }]
  }

  #count(line: Line): void {
    this.#events += 1
    this.#hash.update(line.bytes)
    this.#hash.update('\n')
  }

  #takeTrailer(line: Line, text: string, value: JsonObject): readonly SourceItem[] {
    const trailer = ExportTrailer.safeParse(value.trailer)
    if (!trailer.success || JSON.stringify({ trailer: trailerInOrder(trailer.data) }) !== text) {
      return [faultOf('line-not-canonical', line, 'is no trailer as an export writes it')]
    }
    this.#trailer = trailer.data
    const { events, digest } = trailer.data
    const faults: SourceFault[] = []
    if (events !== this.#events) {
      faults.push(faultOf('trailer-count', line, `counts ${events} events, there are ${this.#events}`))
    }
    if (digest !== `sha256:${this.#hash.digest('hex')}`) {
      faults.push(faultOf('trailer-digest', line, 'has the digest of other lines than these'))
    }
    if (JSON.stringify(trailer.data.filter) !== JSON.stringify(this.#filter)) {
      faults.push(faultOf('trailer-scope', line, 'is about another query than the first line'))
    }
    if (!isOfPart(trailer.data, this.#part))
      faults.push(faultOf('trailer-scope', line, 'is about another part of the log than the first line'))
    for (const stream of this.#streams) {
      if (isWithin(stream, trailer.data)) continue
      faults.push(faultOf('trailer-scope', line, `is about others than the stream ${stream}`))
    }
    this.#tree.passLost(trailer.data.tenant)
    const { checkpoint: kept, findKey, inChain } = this.#options
    const completeness = judgeCompleteness({ trailer: trailer.data, tree: this.#tree, kept, findKey, inChain })
    for (const { code, message } of completeness.faults) faults.push({ fault: { code, message } })
    this.#options.onTrailer?.(trailer.data, completeness)
    return faults
  }
}

/** The trailer's members about a part must be those of the part's head, and absent without one. */
function isOfPart({ from, fromRoot, to, treeSize }: ExportTrailer, part: PartHead | undefined): boolean {
  return from === part?.from && fromRoot === part?.root && to === (part && (treeSize ?? undefined))
}

function isWithin(stream: string, { tenant, run }: Pick<ExportTrailer, 'tenant' | 'run'>): boolean {
  const name = parseStream(stream)
  return name?.tenant === tenant && (run === null || name.runId === run)
}

function recordOf(line: Line, text: string, value: JsonObject): PlacedRecord | SourceFault {
  const { header, salt, data } = value
  const saltBytes = typeof salt === 'string' ? fromBase64url(salt) : undefined
  const place = placeOf(header)
  if (place === undefined || saltBytes === undefined || data === undefined) {
    return faultOf('line-not-canonical', line, 'has no header, salt and data of an event', place)
  }
  const headerText = canonical(header)
  const dataText = canonical(data)
  if (headerText === undefined || dataText === undefined || exportLine(headerText, String(salt), dataText) !== text) {
    return faultOf('line-not-canonical', line, 'is not the line that its own parts would make', place)
  }
  const record: PlacedRecord = { ...place, header: headerText, salt: saltBytes, data: dataText }
  return record
}

/** The same serialization as `src/export/jsonl.ts`, which this folder must not import; a test compares the two. */
function exportLine(header: string, salt: string, data: string): string {
  return `{"header":${header},"salt":"${salt}","data":${data}}`
}

function placeOf(header: Json | undefined): { readonly stream: string; readonly revision: number } | undefined {
  if (!isJsonObject(header)) return undefined
  const { stream, revision } = header
  return typeof stream === 'string' && Number.isSafeInteger(revision)
    ? { stream, revision: Number(revision) }
    : undefined
}

function canonical(value: Json | undefined): string | undefined {
  if (value === undefined) return undefined
  try {
    return canonicalJson(value)
  } catch {
    return undefined
  }
}

function faultOf(
  code: VerifyFaultCode,
  line: Line,
  message: string,
  place: { readonly stream?: string; readonly revision?: number } = {},
): SourceFault {
  return { fault: { code, message: `line ${line.number} ${message}`, ...place } }
}
