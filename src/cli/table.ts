/** @module Prints rows: as a table on a terminal, otherwise as one JSON object per line. */
import type { JsonObject } from '../../schemas/json.ts'
import { cellText, fitted, jsonLine, widthOf } from './shown.ts'
import { painter } from './terminal.ts'

/** Column widths come from the first portion of rows, so that a table of millions of rows starts at once. */
const PORTION_ROWS = 200
const COLUMNS_DEFAULT = 100
/** Minimum width of a text column: less would be meaningless. */
const CELL_MIN = 8
/** Minimum widths of name columns. The first one shows a UUID in full, or the beginning of a longer name; the others show the beginning. */
const UUID_CHARS = 36
const NAME_MIN = 20
const MORE_NAMES_MIN = 12
/** Minimum width of the heading of a number column. */
const HEADING_MIN = 6
const GAP = '  '

export interface Output {
  readonly write: (text: string) => void
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
}

export const stdout: Output = {
  write: (text) => void process.stdout.write(text),
  get isTTY() {
    return process.stdout.isTTY
  },
  get columns() {
    return process.stdout.columns
  },
}

/** Prints all rows and returns their number. With `json`, prints lines of JSON on a terminal, too. */
export async function printRows(
  rows: AsyncIterable<JsonObject>,
  {
    columns,
    json,
    output = stdout,
  }: { readonly columns: readonly string[]; readonly json: boolean; readonly output?: Output },
): Promise<number> {
  if (json || output.isTTY !== true) return printLines(rows, output)
  let count = 0
  let widths: readonly number[] | undefined
  let portion: JsonObject[] = []
  let missing: readonly string[] = []
  const flush = (): void => {
    widths ??= widthsOf(columns, portion, output.columns ?? COLUMNS_DEFAULT)
    if (count === 0) missing = leftOut(columns, portion, widths)
    if (count === 0) output.write(painter(output)(lineOf(columns, widths), 'bold'))
    for (const row of portion)
      output.write(
        lineOf(
          columns.map((name) => cellText(row[name])),
          widths,
        ),
      )
    count += portion.length
    portion = []
  }
  for await (const row of rows) {
    portion.push(row)
    if (portion.length === PORTION_ROWS) flush()
  }
  if (portion.length > 0) flush()
  if (count === 0) process.stderr.write('nothing found\n')
  if (missing.length > 0) process.stderr.write(`no room for ${missing.join(', ')}: --json prints all\n`)
  return count
}

async function printLines(rows: AsyncIterable<JsonObject>, output: Output): Promise<number> {
  let count = 0
  for await (const row of rows) {
    output.write(jsonLine(row))
    count += 1
  }
  return count
}

export function lineOf(cells: readonly string[], widths: readonly number[]): string {
  const fit = cells.map((cell, at) => (widths[at] === 0 ? '' : fitted(cell, widths[at] ?? 0)))
  return `${fit
    .filter((_, at) => widths[at] !== 0)
    .join(GAP)
    .trimEnd()}\n`
}

/** Columns that mean little once truncated: they are shrunk after the others. */
const NAMES: ReadonlySet<string> = new Set(['run', 'runId', 'query', 'key', 'kind', 'kid', 'status'])
const DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d/

const NUMBER = /^-?[\d,.]+$/

/** Shrinking order of columns if a table is too wide. A date or a number is never truncated, only its heading: a part would be read as another value. */
const RANKS = ['text', 'name', 'whole'] as const
type Rank = (typeof RANKS)[number]

function rankOf(name: string, cells: readonly string[]): Rank {
  const filled = cells.filter((cell) => cell !== '')
  if (filled.some((cell) => DATE.test(cell)) || filled.every((cell) => NUMBER.test(cell))) return 'whole'
  return NAMES.has(name) ? 'name' : 'text'
}

/** The width that each column needs; if the table is too wide, the widest columns are reduced. 0: left out, because it is empty or there is no room. */
export function widthsOf(columns: readonly string[], rows: readonly JsonObject[], total: number): readonly number[] {
  const cells = columns.map((name) => rows.map((row) => cellText(row[name])))
  const ranks = columns.map((name, at) => rankOf(name, cells[at] ?? []))
  const widths = columns.map((name, at) => {
    const widest = Math.max(0, ...(cells[at] ?? []).map(widthOf))
    return widest === 0 ? 0 : Math.max(widest, name.length)
  })
  const over = (each: readonly number[]): number => {
    const shown = each.filter((width) => width > 0)
    return shown.reduce((sum, width) => sum + width, GAP.length * (shown.length - 1)) - total
  }
  const firstName = ranks.indexOf('name')
  const leastOf = (at: number): number => {
    const widest = Math.max(0, ...(cells[at] ?? []).map(widthOf))
    if (ranks[at] === 'whole') return Math.max(widest, Math.min(HEADING_MIN, columns[at]?.length ?? 0))
    if (ranks[at] === 'text') return CELL_MIN
    if (at !== firstName) return MORE_NAMES_MIN
    return widest <= UUID_CHARS ? widest : NAME_MIN
  }
  const least = widths.map((width, at) => Math.min(width, leastOf(at)))
  // Text columns are dropped from the right first; if dates and numbers alone are too wide, the last of them are dropped too, except for one date.
  const firstDate = cells.findIndex((column) => column.some((cell) => DATE.test(cell)))
  for (const isToGo of [(at: number) => ranks[at] === 'text', (at: number) => at !== firstDate])
    for (let at = columns.length - 1; at > 0 && over(least) > 0; at -= 1) if (isToGo(at)) widths[at] = least[at] = 0
  for (const rank of RANKS) shrink(widths, { over, leastOf, isOf: (at) => ranks[at] === rank })
  return widths
}

interface Shrinking {
  readonly over: (widths: readonly number[]) => number
  readonly leastOf: (at: number) => number
  readonly isOf: (at: number) => boolean
}

/** Reduces the widest of the matching columns until the line fits, or none of them can be reduced further. */
function shrink(widths: number[], { over, leastOf, isOf }: Shrinking): void {
  for (let excess = over(widths); excess > 0; excess -= 1) {
    const room = widths.map((width, at) => (isOf(at) && width > leastOf(at) ? width : 0))
    const widest = Math.max(...room)
    if (widest === 0) return
    widths[room.indexOf(widest)] = widest - 1
  }
}

/** Columns with values for which there was no room. */
function leftOut(
  columns: readonly string[],
  rows: readonly JsonObject[],
  widths: readonly number[],
): readonly string[] {
  return columns.filter((name, at) => widths[at] === 0 && rows.some((row) => cellText(row[name]) !== ''))
}
