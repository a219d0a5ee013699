/** @module Rows of the report: numerator, denominator, ratio, floor, target; as a table, and as a verdict. */
import { matches } from './options.ts'
import { median, type Samples } from './statistics.ts'

export interface Row {
  readonly id: string
  /** Numerator ÷ denominator, in words. */
  readonly what: string
  readonly unit: string
  readonly numerator: number
  readonly denominator?: number
  /** Median of the rounds' ratios; it may differ slightly from the ratio of the two medians. */
  readonly ratio?: number
  readonly ratioRange?: readonly [number, number]
  readonly floor?: number
  readonly target?: number
  /** `at-most`: floor and target are upper bounds. They apply to the ratio, or to the numerator if there is no denominator. */
  readonly bound: 'at-least' | 'at-most'
  /** Remark below the table. */
  readonly note?: string
}

export interface RatioSpec {
  readonly id: string
  readonly what: string
  readonly unit: string
  /** Names of the samples. */
  readonly over: readonly [numerator: string, denominator: string]
  readonly floor?: number
  readonly target?: number
  readonly bound?: Row['bound']
  readonly note?: string
}

/** A row from two samples that were taken in the same rounds. */
export function ratioRow(samples: Samples, spec: RatioSpec): Row {
  const { over, bound = 'at-least', ...rest } = spec
  const numerators = samples.of(over[0])
  const denominators = samples.of(over[1])
  const ratios = numerators.map((value, round) => value / (denominators[round] ?? Number.NaN))
  return {
    ...rest,
    bound,
    numerator: median(numerators),
    denominator: median(denominators),
    ratio: median(ratios),
    ratioRange: [Math.min(...ratios), Math.max(...ratios)],
  }
}

export type RowStatus = 'met' | 'below target' | 'FLOOR MISSED' | ''

export function rowStatus({ ratio, numerator, floor, target, bound }: Row): RowStatus {
  const value = ratio ?? numerator
  const holds = (limit: number): boolean => (bound === 'at-least' ? value >= limit : value <= limit)
  if (floor !== undefined && !holds(floor)) return 'FLOOR MISSED'
  if (target === undefined) return ''
  return holds(target) ? 'met' : 'below target'
}

/** Rows that were requested. */
export function selectRows(rows: readonly Row[], only: readonly string[]): readonly Row[] {
  return only.length === 0 ? rows : rows.filter(({ id }) => only.some((selected) => matches(id, selected)))
}

const HEAD = ['id', 'what', 'numerator', 'denominator', 'ratio (range)', 'floor', 'target', '']

/** Markdown, with columns padded for a terminal. */
export function formatTable(rows: readonly Row[]): string {
  const cells = rows.map((row) => [
    row.id,
    row.what,
    `${formatNumber(row.numerator)} ${row.unit}`.trim(),
    row.denominator === undefined ? '-' : formatNumber(row.denominator),
    formatRatio(row),
    formatBound(row, row.floor),
    formatBound(row, row.target),
    rowStatus(row),
  ])
  const widths = HEAD.map((head, column) => Math.max(head.length, ...cells.map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`
  return [line(HEAD), rule, ...cells.map(line)].join('\n')
}

export function formatNotes(rows: readonly Row[]): string {
  return rows
    .filter(({ note }) => note !== undefined)
    .map(({ id, note }) => `- ${id}: ${note}`)
    .join('\n')
}

function formatRatio({ ratio, ratioRange }: Row): string {
  if (ratio === undefined) return '-'
  const range = ratioRange === undefined ? '' : ` (${ratioRange.map(formatSmall).join('–')})`
  return `${formatSmall(ratio)}${range}`
}

function formatBound({ bound }: Row, limit: number | undefined): string {
  if (limit === undefined) return '-'
  return `${bound === 'at-least' ? '>=' : '<='} ${limit}`
}

function formatSmall(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(2)
}

function formatNumber(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en-GB') : value.toFixed(2)
}
