/**
 * @module Rows of a store read many at a time, as the bytes that they are: one answer of the driver for all of them, and no text made of a body, takes half the
 * time of an answer for each. Only of rows as the ledger writes them: any other block is none, and its rows are read one by one.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import { type RecordBytes, SALT_BYTES } from '../../../schemas/header.ts'
import type { Database } from './open.ts'
import type { RangeRow, ScannedRecord } from './scanned-rows.ts'

/** More gain nothing. */
export const BLOCK_ROWS = 64
/** Of a body: a longer one is read alone, so that a block takes 5 MB at most. */
const DATA_MAX_BYTES = 64 * 1024
const HEADER_MAX_BYTES = 8 * 1024
const REQUEST_MAX_BYTES = 64
const MAX_INTEGER = Number.MAX_SAFE_INTEGER

const IS_USUAL = `typeof(header) = 'text' AND typeof(data) = 'text' AND typeof(salt) = 'blob' AND octet_length(salt) = ${SALT_BYTES}
  AND octet_length(header) <= ${HEADER_MAX_BYTES} AND octet_length(data) <= ${DATA_MAX_BYTES}
  AND typeof(stream_id) = 'integer' AND stream_id BETWEEN 0 AND ${MAX_INTEGER}
  AND typeof(revision) = 'integer' AND revision BETWEEN 0 AND ${MAX_INTEGER}
  AND (request IS NULL OR (typeof(request) = 'text' AND octet_length(request) <= ${REQUEST_MAX_BYTES}))`

/** Of each row: how far behind the start of the block, stream, revision, and lengths in bytes of body, header and request (-1: none). */
const NUMBERS = `(position - ?) || ',' || stream_id || ',' || revision || ',' || octet_length(data) || ',' || octet_length(header)
  || ',' || ifnull(octet_length(request), -1) || ','`
const NUMBERS_A_ROW = 6

/** The zero behind the body ends it for whoever scans it, and is the prefix of the header's digest (RFC 6962). */
const BYTES = `salt || data || x'00' || header || ifnull(request, '')`

const BLOCK = `SELECT group_concat(numbers, ''), CAST(group_concat(bytes, '') AS BLOB) FROM (
  SELECT CASE WHEN usual THEN ${NUMBERS} END AS numbers, CASE WHEN usual THEN ${BYTES} END AS bytes FROM (
    SELECT *, ${IS_USUAL} AS usual FROM events NOT INDEXED WHERE position > ? AND position <= ? ORDER BY position))`

type Block = readonly [numbers: string | null, bytes: Buffer | null]

/** Rows at all positions behind `after` up to `to`, in their order; undefined where one is missing or unusual. Throws the driver's error. */
export type ReadBlock = (after: number, to: number) => readonly RangeRow[] | undefined

/** `nameOf`: the name of the stream with this id. */
export function blockReader(db: Database, nameOf: (streamId: number) => string | undefined): ReadBlock {
  const statement = db.prepare<[bigint, bigint, bigint], Block>(BLOCK).raw()
  return (after, to) => {
    const [numbers, bytes] = statement.get(BigInt(after), BigInt(after), BigInt(to)) ?? [null, null]
    if (numbers === null || bytes === null) return undefined
    const rows = rowsOf(numbersIn(numbers), bytes, { after, nameOf })
    return rows?.length === to - after ? rows : undefined
  }
}

interface BlockPlace {
  readonly after: number
  readonly nameOf: (streamId: number) => string | undefined
}

function rowsOf(numbers: readonly number[], block: Buffer, { after, nameOf }: BlockPlace): RangeRow[] | undefined {
  const rows: RangeRow[] = []
  let start = 0
  for (let at = 0; at < numbers.length; at += NUMBERS_A_ROW) {
    // In a damaged tree rows may come in another order, or twice.
    if (numbers[at] !== rows.length + 1) return undefined
    const stream = nameOf(numbers[at + 1] ?? -1)
    if (stream === undefined) return undefined
    const data = start + SALT_BYTES
    const dataEnd = data + (numbers[at + 3] ?? 0)
    const headerEnd = dataEnd + 1 + (numbers[at + 4] ?? 0)
    const requestBytes = numbers[at + 5] ?? -1
    const end = headerEnd + Math.max(requestBytes, 0)
    // Nearly always so: names are ASCII. Other rows are read one by one.
    if (!isAscii(block.subarray(dataEnd, end))) return undefined
    const body = block.subarray(data, dataEnd)
    const isPlain = isAscii(body)
    if (!isPlain && !isUtf8(body)) return undefined
    const position = after + rows.length + 1
    const header = block.toString('latin1', dataEnd + 1, headerEnd)
    const requestId = requestBytes < 0 ? undefined : block.toString('latin1', headerEnd, end)
    const place = { position: String(position), stream, revision: numbers[at + 2] ?? -1, header, requestId }
    const item = new BlockRecord(place, { block, data, dataEnd, headerEnd, isAscii: isPlain })
    rows.push({ item, position, size: item.size })
    start = end
  }
  return start === block.length ? rows : undefined
}

const COMMA = 0x2c
const MINUS = 0x2d
const ZERO = 0x30
const TEN = 10

function numbersIn(text: string): readonly number[] {
  const numbers: number[] = []
  let number = 0
  let sign = 1
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === MINUS) sign = -1
    else if (code !== COMMA) number = number * TEN + code - ZERO
    else {
      numbers.push(sign * number)
      number = 0
      sign = 1
    }
  }
  return numbers
}

/** A record whose body is a text only once it is wanted as one. */
class BlockRecord implements ScannedRecord {
  readonly hasColumns = true
  readonly position: string
  readonly stream: string
  readonly revision: number
  readonly header: string
  readonly requestId: string | undefined
  readonly bytes: RecordBytes
  #data: string | undefined

  constructor(
    { position, stream, revision, header, requestId }: Omit<ScannedRecord, 'salt' | 'data' | 'bytes' | 'hasColumns'>,
    bytes: RecordBytes,
  ) {
    this.position = position
    this.stream = stream
    this.revision = revision
    this.header = header
    this.requestId = requestId
    this.bytes = bytes
  }

  /** In UTF-16 units, of header and body. */
  get size(): number {
    const { data, dataEnd, isAscii: isPlain } = this.bytes
    return this.header.length + (isPlain ? dataEnd - data : this.data.length)
  }

  get salt(): Uint8Array {
    const { block, data } = this.bytes
    return block.subarray(data - SALT_BYTES, data)
  }

  get data(): string {
    const { block, data, dataEnd, isAscii: isPlain } = this.bytes
    this.#data ??= block.toString(isPlain ? 'latin1' : 'utf8', data, dataEnd)
    return this.#data
  }
}
