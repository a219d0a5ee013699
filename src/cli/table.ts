/** @module Rows for people and for programs: a table on a terminal, else one JSON object a line. */
import type { JsonObject } from '../../schemas/json.ts'
import { cellText, fitted, jsonLine, widthOf } from './shown.ts'
import { painter } from './terminal.ts'

/** Rows are looked at in portions, so that a table of millions begins at once. */
const PORTION_ROWS = 200
const COLUMNS_DEFAULT = 100
const CELL_MIN = 4
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

/** Prints every row; answers how many there were. `json` asks for lines of JSON on a terminal too. */
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
  const flush = (): void => {
    widths ??= widthsOf(columns, portion, output.columns ?? COLUMNS_DEFAULT)
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

function widestOf(columns: readonly string[], widths: readonly number[]): number | undefined {
  const shrinking = widths.map((width, at) => ({ width, at })).filter(({ width }) => width > CELL_MIN)
  const first = shrinking.filter(({ at }) => !WHOLE.has(columns[at] ?? ''))
  return (first.length > 0 ? first : shrinking).sort((a, b) => b.width - a.width)[0]?.at
}

export function lineOf(cells: readonly string[], widths: readonly number[]): string {
  const fit = cells.map((cell, at) => (widths[at] === 0 ? '' : fitted(cell, widths[at] ?? 0)))
  return `${fit
    .filter((_, at) => widths[at] !== 0)
    .join(GAP)
    .trimEnd()}\n`
}

/** Columns that say nothing once they are cut: they give way last. */
const WHOLE: ReadonlySet<string> = new Set([
  'leaf',
  'time',
  'at',
  'started',
  'last',
  'run',
  'runId',
  'revision',
  'query',
  'key',
  'kind',
])

/** What each column needs, and where that is too much, less of the widest ones. Columns that nobody fills are left out. */
export function widthsOf(columns: readonly string[], rows: readonly JsonObject[], total: number): readonly number[] {
  const widths = columns.map((name) => {
    const cells = rows.map((row) => widthOf(cellText(row[name])))
    const widest = Math.max(0, ...cells)
    return widest === 0 ? 0 : Math.max(widest, name.length)
  })
  const room = Math.max(total - GAP.length * (widths.filter((width) => width > 0).length - 1), widths.length)
  for (let sum = widths.reduce((a, b) => a + b, 0); sum > room; sum -= 1) {
    const widest = widestOf(columns, widths)
    if (widest === undefined) break
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}
