/**
 * @module CSV (RFC 4180, CRLF, with a header line). A cell that a spreadsheet would interpret as a formula, or that begins with an apostrophe, is prefixed
 * with an apostrophe (OWASP, ASVS 1.2.10): a reader removes one leading apostrophe.
 */
import type { JsonObject } from '../../schemas/json.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import { type ExportFormat, type ExportTrailer, textOf } from './format.ts'
import { membersOf } from './members-of.ts'
import { runOf } from './run-of.ts'

/** `type` of the last row, whose `data` is the trailer. */
export const CSV_TRAILER_TYPE = 'ExportTrailer'

/** `named`: the members of the body that columns use, and possibly others. */
type Cell = (event: LedgerEvent, named: JsonObject) => string | number | undefined

const COLUMNS: Readonly<Record<string, Cell>> = {
  id: ({ header }) => header.id,
  stream: ({ header }) => header.stream,
  revision: ({ header }) => header.revision,
  run: ({ header }) => runOf(header.stream),
  type: ({ header }) => header.type,
  time: ({ header }) => header.time,
  clock: ({ header }) => header.clock,
  tenant: ({ header }) => header.tenant,
  actor: ({ header }) => header.actor,
  principal: ({ header }) => header.principal,
  via: ({ header }) => header.via?.join(' '),
  causation: ({ header }) => header.causation,
  traceparent: ({ header }) => header.traceparent,
  request: ({ header }) => header.request?.id,
  agent: (_, named) => textOf(named, 'agent'),
  tool: (_, named) => textOf(named, 'tool'),
  call: (_, named) => textOf(named, 'callId'),
  digest: ({ digest }) => digest,
  prev: ({ header }) => header.prev,
  dataDigest: ({ header }) => header.dataDigest,
  kid: ({ header }) => header.kid,
  mac: ({ header }) => header.mac,
  salt: ({ texts }) => texts.salt,
}
/** The last column, which is most of a row. */
const DATA = 'data'
const NAMES = [...Object.keys(COLUMNS), DATA]
const CELLS = Object.values(COLUMNS)
const NAMED: ReadonlySet<string> = new Set(['agent', 'tool', 'callId'])

/** Includes the full-width forms, which some programs treat like the plain ones. */
const FORMULA_STARTS = new Set([
  "'",
  '=',
  '+',
  '-',
  '@',
  '\t',
  '\r',
  '\n',
  '\0',
  '\uff1d',
  '\uff0b',
  '\uff0d',
  '\uff20',
])
/** RFC 4180 quotes commas, quotes and line ends; a reader may treat the others as separators, too. */
const QUOTED = /[",\r\n\0\t;\ufeff]/
const LINE_END = '\r\n'

export const csv: ExportFormat = {
  contentType: 'text/csv; charset=utf-8; header=present',
  extension: 'csv',
  isByEvent: true,
  open: () => ({
    head: csvRow(NAMES),
    event: (event) => `${cellsBefore(event)}${safeCell(event.texts.data)}${LINE_END}`,
    write: (event, file) => {
      const { data } = event.texts
      if (!data.startsWith(OBJECT_START)) return file.add(`${cellsBefore(event)}${safeCell(data)}${LINE_END}`)
      file.add(`${cellsBefore(event)}"`)
      file.addDoubled(data)
      file.add(`"${LINE_END}`)
    },
    rest: () => '',
    trailer: (trailer) => csvRow(NAMES.map((name) => trailerCell(name, trailer))),
  }),
}

/** An event's body has a member and so contains a quote: its cell is quoted, and cannot be a formula. */
const OBJECT_START = '{"'

/** All cells but the last, each followed by a comma. */
function cellsBefore(event: LedgerEvent): string {
  const members = event.seal === 'valid' ? membersOf(event.texts.data, NAMED) : undefined
  const named = members ?? event.data
  let row = ''
  for (const cell of CELLS) row += `${safeCell(String(cell(event, named) ?? ''))},`
  return row
}

function trailerCell(name: string, trailer: ExportTrailer): string {
  if (name === 'type') return CSV_TRAILER_TYPE
  if (name === 'tenant') return trailer.tenant
  return name === DATA ? JSON.stringify(trailer) : ''
}

/** A line of cells, each safe for a spreadsheet. */
export function csvRow(cells: readonly string[]): string {
  let row = ''
  let separator = ''
  for (const cell of cells) {
    row += separator + safeCell(cell)
    separator = ','
  }
  return row + LINE_END
}

function safeCell(text: string): string {
  const safe = FORMULA_STARTS.has(text.charAt(0)) ? `'${text}` : text
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
