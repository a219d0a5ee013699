/**
 * @module Reads many rows of a store at once, as bytes: one result of the driver for all of them, without decoding the payloads, takes half the time of
 * one result per row. Only for rows as the ledger writes them; a block with any other row is rejected, and its rows are read one by one.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import { type RecordBytes, SALT_BYTES } from '../../../schemas/header.ts'
import type { Database } from './open.ts'
import type { RangeRow, ScannedRecord } from './scanned-rows.ts'

/** Rows per block; more bring no gain. */
export const BLOCK_ROWS = 64
/** Maximum size of a payload: a longer one is read on its own, so that a block takes 5 MB at most. */
const DATA_MAX_BYTES = 64 * 1024
const HEADER_MAX_BYTES = 8 * 1024
const REQUEST_MAX_BYTES = 64
const MAX_INTEGER = Number.MAX_SAFE_INTEGER

const IS_USUAL = `typeof(header) = 'text' AND typeof(data) = 'text' AND typeof(salt) = 'blob' AND octet_length(salt) = ${SALT_BYTES}
  AND octet_length(header) <= ${HEADER_MAX_BYTES} AND octet_length(data) <= ${DATA_MAX_BYTES}
  AND typeof(stream_id) = 'integer' AND stream_id BETWEEN 0 AND ${MAX_INTEGER}
  AND typeof(revision) = 'integer' AND revision BETWEEN 0 AND ${MAX_INTEGER}
  AND (request IS NULL OR (typeof(request) = 'text' AND octet_length(request) <= ${REQUEST_MAX_BYTES}))`

/** For each row: offset from the start of the block, stream, revision, and the lengths in bytes of payload, header and request (-1: none). */
const NUMBERS = `format('%d,%d,%d,%d,%d,%d,', position - ?, stream_id, revision, octet_length(data), octet_length(header),
  ifnull(octet_length(request), -1))`

/**
 * The zero byte after the payload terminates it for the code that scans it, and is the prefix of the header's leaf hash (RFC 6962). One `concat` call
 * builds the row: `||` would copy the payload once per operand.
 */
const BLOCK = `SELECT CAST(group_concat(CASE WHEN ${IS_USUAL} THEN concat(${NUMBERS}, salt, data, x'00', header, request) END, '') AS BLOB)
  FROM (SELECT * FROM events NOT INDEXED WHERE position > ? AND position <= ? ORDER BY position)`

/** Reads the rows at all positions after `after` up to `to`, in order; undefined if one is missing or unusual. Throws the driver's error. */
export type ReadBlock = (after: number, to: number) => readonly RangeRow[] | undefined

/** `nameOf` returns the name of the stream with this id. */
export function blockReader(db: Database, nameOf: (streamId: number) => string | undefined): ReadBlock {
  const statement = db.prepare<[bigint, bigint, bigint], Buffer | null>(BLOCK).pluck()
  return (after, to) => {
    const block = statement.get(BigInt(after), BigInt(after), BigInt(to)) ?? null
    const rows = block === null ? undefined : rowsOf(block, { after, nameOf })
    return rows?.length === to - after ? rows : undefined
  }
}

interface BlockPlace {
  readonly after: number
  readonly nameOf: (streamId: number) => string | undefined
}

function rowsOf(block: Buffer, { after, nameOf }: BlockPlace): RangeRow[] | undefined {
  const rows: RangeRow[] = []
  const numbers = new NumberReader(block)
  while (numbers.at < block.length) {
    const [behind, streamId, revision] = [numbers.next(), numbers.next(), numbers.next()]
    const [dataBytes, headerBytes, requestBytes] = [numbers.next(), numbers.next(), numbers.next()]
    // In a damaged tree rows may come in another order, or twice.
    if (behind !== rows.length + 1) return undefined
    const stream = nameOf(streamId)
    if (stream === undefined) return undefined
    const data = numbers.at + SALT_BYTES
    const dataEnd = data + dataBytes
    const headerEnd = dataEnd + 1 + headerBytes
    const end = headerEnd + Math.max(requestBytes, 0)
    if (end > block.length) return undefined
    const isPlain = isAscii(block.subarray(data, end))
    if (!isPlain && !isUsual(block, data, dataEnd, end)) return undefined
    const position = after + behind
    const header = block.toString('latin1', dataEnd + 1, headerEnd)
    const requestId = requestBytes < 0 ? undefined : block.toString('latin1', headerEnd, end)
    const place = { position: String(position), stream, revision, header, requestId }
    const item = new BlockRecord(place, { block, data, dataEnd, headerEnd, isAscii: isPlain })
    rows.push({ item, position, size: item.size })
    numbers.at = end
  }
  return rows
}

/** Names are ASCII: a row with non-ASCII names is read on its own, and so is one whose payload is not UTF-8. */
function isUsual(block: Buffer, data: number, dataEnd: number, end: number): boolean {
  return isAscii(block.subarray(dataEnd, end)) && isUtf8(block.subarray(data, dataEnd))
}

const COMMA = 0x2c
const MINUS = 0x2d
const ZERO = 0x30
const TEN = 10

/** Reads the decimal numbers of a block, each followed by a comma. */
class NumberReader {
  at = 0
  readonly #block: Buffer

  constructor(block: Buffer) {
    this.#block = block
  }

  next(): number {
    const block = this.#block
    const isNegative = block[this.at] === MINUS
    let number = 0
    for (let at = isNegative ? this.at + 1 : this.at; ; at += 1) {
      const code = block[at] ?? COMMA
      if (code === COMMA) {
        this.at = at + 1
        return isNegative ? -number : number
      }
      number = number * TEN + code - ZERO
    }
  }
}

/** A record whose payload is decoded only on first access. */
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

  /** Length of header and payload, in UTF-16 code units. */
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
